package manifest

import (
	"net/url"
	"slices"
	"strings"
)

// The schemas of the public format, by date. A registry wants the last.
const currentSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

var schemaDates = [...]string{"2025-07-09", "2025-09-16", "2025-09-29", "2025-10-11", "2025-10-17", "2025-12-11"}

// schemaDate looks at the date in a $schema.
func (v *validator) schemaDate(n *Node) {
	_, rest, _ := strings.Cut(n.Text, "/schemas/")
	date, ok := strings.CutSuffix(rest, "/server.schema.json")
	last := schemaDates[len(schemaDates)-1]
	switch {
	case !ok || date == "" || strings.Contains(date, "/"):
		v.fault(RuleSchemaUnknown, n, "$schema is %s, which names no schema of this format", show(n.Text)).suggest("use %s", currentSchema)
	case date == last, date == "draft":
	case slices.Contains(schemaDates[:], date):
		v.warn(RuleSchemaDeprecated, n, "$schema is of %s, and the current one is of %s", date, last).suggest("use %s", currentSchema)
	case len(date) == len(last) && date > last && date[0] == '2':
		v.fault(RuleSchemaUnknown, n, "$schema is of %s, which is newer than any that is known here", show(date)).suggest("update this tool, or use %s", currentSchema)
	default:
		v.fault(RuleSchemaUnknown, n, "$schema is of %s, and there is no such schema", show(date)).suggest("use %s", currentSchema)
	}
}

func isRegistryPart(s string) bool {
	return len(s) >= 2 && isAlphanumeric(s[0]) && isAlphanumeric(s[len(s)-1])
}

// repositoryHost wants a repository that the registry can look up.
func (v *validator) repositoryHost(n *Node) {
	link, source := n.Get("url"), n.Get("source")
	if link == nil || source == nil || link.Kind != KindString || source.Kind != KindString || uriFault(link.Text) != "" {
		return
	}
	hosts := map[string]string{"github": "github.com", "gitlab": "gitlab.com"}
	host, ok := hosts[source.Text]
	if !ok {
		v.trail.key("source")
		v.fault(RuleRepositoryHost, source, "source is %s, which a registry does not support", show(source.Text)).suggest("use github or gitlab")
		v.trail.pop()
		return
	}
	if !isRepository(link.Text, host) {
		v.trail.key("url")
		v.fault(RuleRepositoryHost, link, "url is %s and not that of a repository at %s", show(link.Text), host).suggest("write https://%s/owner/name", host)
		v.trail.pop()
	}
}

// isRepository says that a URL is that of a repository: owner and name at GitHub,
// two segments or more at GitLab, and nothing behind them.
func isRepository(link, host string) bool {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	if h := strings.ToLower(u.Host); h != host && h != "www."+host {
		return false
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	if slices.Contains(segments, "") || slices.Contains(segments, "-") {
		return false
	}
	return len(segments) == 2 || host == "gitlab.com" && len(segments) > 2
}

// flagName is the check of a named argument's name.
func flagName(v *validator, n *Node) {
	if !v.is(n, KindString) || !v.registry {
		return
	}
	if n.Text == "" || strings.ContainsAny(n.Text, "<> $") {
		v.fault(RuleFlagName, n, "%s is %s and not a flag alone", v.trail.subject(), show(n.Text)).
			suggest("write the flag with its dashes, and what follows it as value, default or placeholder")
	}
}

// flagInValue reports a value that repeats its flag, which would be there twice.
func (v *validator) flagInValue(n *Node) {
	name := stringOf(n.Get("name"))
	if !v.registry || name == "" {
		return
	}
	for _, key := range [...]string{"value", "default"} {
		if text := n.Get(key); text != nil && strings.HasPrefix(stringOf(text), name) {
			v.trail.key(key)
			v.fault(RuleFlagRepeated, text, "%s begins with the argument's name", v.trail.subject()).suggest("write only what follows the flag")
			v.trail.pop()
		}
	}
}

func (v *validator) stdioURL(n *Node) {
	if link := n.Get("url"); v.registry && link != nil && !(link.Kind == KindString && link.Text == "") {
		v.trail.key("url")
		v.fault(RuleStdioURL, link, "a stdio transport has no url").suggest("remove it, or use streamable-http or sse")
		v.trail.pop()
	}
}

// filledIn parses a url with every variable replaced by a digit, which is fine as
// a host, a port and a part of a path.
func filledIn(template string) (*url.URL, error) {
	var b strings.Builder
	for rest := template; ; {
		before, name, after := cutVariable(rest)
		b.WriteString(before)
		if name == "" {
			return url.Parse(b.String())
		}
		b.WriteByte('1')
		rest = after
	}
}

// urlHost wants a scheme and a host that don't come from variables alone.
func (v *validator) urlHost(link *Node) {
	if !v.registry {
		return
	}
	u, err := filledIn(link.Text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		v.fault(RuleURLHost, link, "url is %s and has no scheme and host that stay the same", show(link.Text)).
			suggest("begin it with https:// or http:// and a host, which may be a variable")
	}
}

// remoteHost wants a remote that others can reach. It reports what urlHost has not.
func (v *validator) remoteHost(link *Node) {
	if !v.registry || templateFault(stringOf(link), true) != "" {
		return
	}
	u, err := filledIn(link.Text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost" || host == "127.0.0.1" || strings.HasSuffix(host, ".localhost")
	v.trail.key("url")
	defer v.trail.pop()
	switch {
	case local:
		v.fault(RuleRemoteHost, link, "url is %s, and a remote cannot be on the user's own machine", show(link.Text)).suggest("use a host that others can reach")
	case u.Scheme != "https":
		v.fault(RuleRemoteHost, link, "url is %s, and a remote has to be https", show(link.Text)).suggest("use https")
	}
}
