package manifest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// CurrentSchema is the $schema of the newest public schema that this package knows.
const CurrentSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// currentDate is the date of CurrentSchema.
const currentDate = "2025-12-11"

// SchemaDates returns the dates of the public schemas, oldest first. Manifests of the
// last one need no migration.
func SchemaDates() []string {
	return []string{"2025-07-09", "2025-09-16", "2025-09-29", "2025-10-11", "2025-10-17", currentDate}
}

// schemaDateOf returns the date in a $schema, or "". A query and a fragment may follow the
// name of the schema.
func schemaDateOf(schema string) string {
	_, rest, _ := strings.Cut(schema, "/schemas/")
	date, after, ok := strings.Cut(rest, "/server.schema.json")
	if !ok || after != "" && after[0] != '#' && after[0] != '?' || strings.Contains(date, "/") {
		return ""
	}
	return date
}

// isNewer reports whether a date is that of a later schema.
func isNewer(date string) bool {
	return len(date) == len(currentDate) && date > currentDate && date[0] == '2'
}

// schemaDate checks the date in a $schema. Without a registry and without a dated profile a
// document of another date is a likely mistake.
func (v *validator) schemaDate(n *Node) {
	if v.dated {
		return
	}
	date := schemaDateOf(n.Text)
	switch {
	case date == currentDate, date == "draft" && !v.registry:
	case date == "":
		if v.registry { // others may have schemas of their own
			v.fault(ruleSchemaUnknown, n, "$schema %s is not a schema of this format", jsonpos.Quote(n.Text)).suggest("use %s", CurrentSchema)
		}
	case date == "draft":
		v.fault(ruleSchemaUnknown, n, "$schema is that of a draft").suggest("use %s", CurrentSchema)
	case slices.Contains(SchemaDates(), date):
		v.warn(ruleSchemaDeprecated, n, "this is of %s: the current schema is that of %s", date, currentDate).suggest("run manifest migrate")
	case isNewer(date):
		v.report(v.registryError(), ruleSchemaUnknown, n, "$schema has the date %s, which is newer than this tool knows", jsonpos.Quote(date)).
			suggest("update this tool, or use %s", CurrentSchema)
	default:
		v.report(v.registryError(), ruleSchemaUnknown, n, "unknown $schema date %s", jsonpos.Quote(date)).suggest("use %s", CurrentSchema)
	}
}

// isRegistryPart checks one part of a name by the rules of a registry.
// registryError returns the severity of what a registry refuses and others accept.
func (v *validator) registryError() Severity {
	if v.registry {
		return Error
	}
	return Warning
}

func isRegistryPart(s string) bool {
	return len(s) >= 2 && grammar.IsAlphanumeric(s[0]) && grammar.IsAlphanumeric(s[len(s)-1])
}

func repository(v *validator, n *Node) {
	if n.Kind == KindObject && isBlank(n) {
		v.fault(ruleRepositoryEmpty, n, "repository is empty")
		return
	}
	if !v.object(n, repositoryShape) || !v.registry {
		return
	}
	link, source := n.Get("url"), n.Get("source")
	if link == nil || source == nil || source.Kind != KindString || grammar.URIFault(stringOf(link)) != "" {
		return
	}
	if host := source.Text + ".com"; host != "github.com" && host != "gitlab.com" {
		v.at("source", func() {
			p := v.fault(ruleRepositoryHost, source, "registries do not support the source %s", jsonpos.Quote(source.Text)).suggest("use github or gitlab")
			if lower := strings.ToLower(source.Text); lower == "github" || lower == "gitlab" {
				p.suggest("write %q", lower).fix(source.Start, source.End, strconv.Quote(lower))
			}
		})
	} else if !isRepository(link.Text, host) {
		v.at("url", func() {
			v.fault(ruleRepositoryHost, link, "url %s is not that of a repository at %s", jsonpos.Quote(link.Text), host).suggest("write https://%s/owner/name", host)
		})
	}
}

// isRepository reports whether a URL is that of a repository and nothing below it: owner
// and name at GitHub, two or more segments at GitLab.
func isRepository(link, host string) bool {
	rest, ok := strings.CutPrefix(link, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(link, "http://")
	}
	path, atHost := strings.CutPrefix(strings.TrimPrefix(rest, "www."), host+"/")
	if !ok || !atHost {
		return false
	}
	n := 0
	for s := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if n++; s == "" || s == "-" || !grammar.Only(s, "-_.") {
			return false
		}
	}
	return n == 2 || host == "gitlab.com" && n > 2
}

func isHTTP(u *url.URL) bool { return u.Scheme == "https" || u.Scheme == "http" }

// flagName checks the name of a named argument.
func flagName(v *validator, n *Node) {
	if v.mustBe(n, KindString) && v.registry && (n.Text == "" || strings.ContainsAny(n.Text, "<> $")) {
		v.fault(ruleFlagName, n, "%s is %s, which is not only a flag", v.subject(), jsonpos.Quote(n.Text)).
			suggest("write the flag with its dashes, and what follows it as value, default or placeholder")
	}
}

// flagInValue reports a value that repeats its flag.
func (v *validator) flagInValue(n *Node) {
	name := stringOf(n.Get("name"))
	if !v.registry || name == "" {
		return
	}
	for _, key := range [...]string{"value", "default"} {
		if text := n.Get(key); strings.HasPrefix(stringOf(text), name) {
			v.at(key, func() {
				v.fault(ruleFlagRepeated, text, "%s begins with the name of the argument", v.subject()).suggest("write only what follows the flag")
			})
		}
	}
}

// filledIn parses a url with every variable replaced by a digit, which is valid in a
// host, a port and a path. It returns nil if the result has no http scheme and host.
func filledIn(template string) *url.URL {
	var b strings.Builder
	for rest := template; ; {
		before, name, after := grammar.CutVariable(rest)
		if name == "" && b.Len() > 0 {
			b.WriteString(before)
			before = b.String()
		}
		if name == "" {
			u, err := url.Parse(before)
			if err != nil || u.Host == "" || !isHTTP(u) {
				return nil
			}
			return u
		}
		b.WriteString(before)
		b.WriteByte('1')
		rest = after
	}
}

// remoteHost requires a remote that others can reach. u is its url with a digit for each variable.
func (v *validator) remoteHost(link *Node, u *url.URL) {
	reason, suggestion := "", ""
	switch host := strings.ToLower(u.Hostname()); {
	case host == "localhost" || host == "127.0.0.1" || strings.HasSuffix(host, ".localhost"):
		reason, suggestion = "points to the user's own machine", "use a host that others can reach"
	case u.Scheme != "https":
		reason, suggestion = "is not https", "use https"
	default:
		return
	}
	v.at("url", func() {
		v.fault(ruleRemoteHost, link, "url %s %s", jsonpos.Quote(link.Text), reason).suggest("%s", suggestion)
	})
}
