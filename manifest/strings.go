package manifest

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// length checks the length of a string in code points.
func length(least, most int) check {
	return func(v *validator, n *Node) { v.hasLength(n, least, most) }
}

// hasLength reports whether a value is a string of a length in code points.
func (v *validator) hasLength(n *Node, least, most int) bool {
	if !v.mustBe(n, KindString) {
		return false
	}
	switch count := utf8.RuneCountInString(n.Text); {
	case count < least:
		v.fault(ruleLength, n, "%s must not be empty", v.subject()).suggest("write 1 to %d characters", most)
		return false
	case count > most:
		v.fault(ruleLength, n, "%s has %d characters: at most %d are allowed", v.subject(), count, most).
			suggest("shorten it by %d", count-most)
		return false
	}
	return true
}

// placeholder warns about a valid string with a placeholder of a release template, and says what to write instead. There is
// no edit: a document in a repository is often the template itself, and another value in it need not be the right one.
func (v *validator) placeholder(n *Node, instead string) *Problem {
	p := grammar.Placeholder(n.Text)
	if p == "" {
		return nil
	}
	return v.warn(rulePlaceholder, n, "%s has the placeholder %s of a template", v.subject(), jsonpos.Quote(p)).
		suggest("write %s before the manifest is used", instead)
}

// suggestFor suggests to fill in a placeholder if the string has one, else a suggestion.
func (p *Problem) suggestFor(n *Node, suggestion string) {
	if found := grammar.Placeholder(n.Text); found != "" {
		suggestion = jsonpos.Quote(found) + " is a placeholder of a release template: fill it in first"
	}
	p.suggest("%s", suggestion)
}

func title(v *validator, n *Node) {
	if v.hasLength(n, 1, 100) && v.registry && strings.TrimSpace(n.Text) == "" {
		v.fault(ruleBlankTitle, n, "title is blank").suggest("write a name, or leave it out")
	}
}

// serverName checks namespace/name, whose form implies the minimum length.
func serverName(v *validator, n *Node) {
	if !v.mustBe(n, KindString) {
		return
	}
	space, name, slash := strings.Cut(n.Text, "/")
	reason := ""
	switch {
	case !slash:
		reason = "has no slash"
	case strings.Contains(name, "/"):
		reason = "has more than one slash"
	case space == "":
		reason = "has nothing before the slash"
	case name == "":
		reason = "has nothing after the slash"
	case !grammar.Only(space, ".-"):
		reason = "has a character before the slash that is not a letter, digit, dot or hyphen"
	case !grammar.Only(name, "._-"):
		reason = "has a character after the slash that is not a letter, digit, dot, underscore or hyphen"
	}
	if reason != "" {
		v.fault(ruleName, n, "name %s %s", jsonpos.Quote(n.Text), reason).
			suggestFor(n, "write a namespace in reverse-DNS form, one slash and a name: com.example/weather")
		return
	}
	if !v.hasLength(n, 3, 200) {
		return
	}
	switch {
	case strings.Trim(space, ".") == "" || strings.Trim(name, ".") == "":
		severity, rule := Warning, ruleDotSegment
		if v.registry {
			severity, rule = Error, ruleNameParts
		}
		v.report(severity, rule, n, "name %s has a part that consists of dots, like a relative path", jsonpos.Quote(n.Text)).suggest("use letters and digits")
	case v.registry && !(isRegistryPart(space) && isRegistryPart(name)):
		v.fault(ruleNameParts, n, "name %s has a part with fewer than two characters or with punctuation at its beginning or end", jsonpos.Quote(n.Text)).
			suggest("begin and end both parts with a letter or digit")
	default:
		v.placeholder(n, "the name of the server")
	}
}

func serverVersion(v *validator, n *Node) {
	if v.hasLength(n, 0, 255) {
		v.specificVersion(n, v.registryError(), ruleLatest)
	}
}

func packageVersion(v *validator, n *Node) {
	if v.hasLength(n, 1, v.versionMax) {
		v.specificVersion(n, Error, rulePackageLatest)
	}
}

// specificVersion reports latest and ranges of versions.
func (v *validator) specificVersion(n *Node, latest Severity, latestRule Rule) {
	if n.Text == "latest" {
		v.report(latest, latestRule, n, "%s is latest, which is not a specific version", v.subject()).suggest("write the version, such as 1.0.0")
		return
	}
	reason := grammar.RangeReason(n.Text)
	if reason == "" {
		if trimmed := strings.TrimSpace(n.Text); trimmed != n.Text {
			v.versionSpace(n, trimmed)
			return
		}
		v.placeholder(n, "the version, such as 1.0.0,")
		return
	}
	example := "1.0.0"
	if first := grammar.FirstVersion(n.Text); first != "" {
		example = jsonpos.Quote(first)
	}
	p := v.report(v.prose, ruleVersionRange, n, "%s is %s, which is a range: %s", v.subject(), jsonpos.Quote(n.Text), reason).
		suggest("name one version, such as %s", example)
	if pinned := grammar.Pinned(n.Text); pinned != "" {
		p.fix(n.Start, n.End, string(jsonpos.AppendValue(nil, pinned)))
	}
}

// versionSpace warns about white space around a version, which comparisons of versions do
// not ignore.
func (v *validator) versionSpace(n *Node, trimmed string) {
	p := v.warn(ruleVersionSpace, n, "%s is %s, which has white space around it", v.subject(), jsonpos.Quote(n.Text))
	switch trimmed {
	case "", "latest":
		p.suggest("write the version, such as 1.0.0")
	default:
		p.suggest("write %s", jsonpos.Quote(trimmed)).fix(n.Start, n.End, string(jsonpos.AppendValue(nil, trimmed)))
	}
}

// uri checks a URI as defined by RFC 3986.
func uri(v *validator, n *Node) { v.isURI(n) }

func (v *validator) isURI(n *Node) bool {
	if !v.mustBe(n, KindString) {
		return false
	}
	reason := grammar.URIFault(n.Text)
	if reason == "" {
		return true
	}
	suggestion := "write it in full, such as https://example.com/path"
	if rest, ok := strings.CutPrefix(n.Text, "git@"); ok {
		suggestion = "write https://" + strings.Replace(rest, ":", "/", 1)
	}
	v.fault(ruleURI, n, "%s is %s, which is not a URI: %s", v.subject(), jsonpos.Quote(n.Text), reason).suggestFor(n, suggestion)
	return false
}

func schemaURI(v *validator, n *Node) {
	switch {
	case n.Kind == KindString && strings.TrimSpace(n.Text) == "":
		v.fault(ruleURI, n, "$schema is empty").suggest("use %s", CurrentSchema).fix(n.Start, n.End, strconv.Quote(CurrentSchema))
	case n.Kind == KindString && n.Text == CurrentSchema:
	case v.isURI(n):
		v.schemaDate(n)
	}
}

func website(v *validator, n *Node) {
	if v.isURI(n) && v.registry && !grammar.HasHost(n.Text, "https") {
		v.fault(ruleWebsiteHTTPS, n, "websiteUrl %s is not https with a host", jsonpos.Quote(n.Text)).suggest("write it in full, such as https://example.com")
	}
}

func iconSource(v *validator, n *Node) {
	switch {
	case !v.isURI(n) || !v.hasLength(n, 0, 255):
	case !grammar.HasScheme(n.Text, "https"):
		v.report(v.prose, ruleIconHTTPS, n, "src %s is not https", jsonpos.Quote(n.Text)).suggest("use https")
	case !grammar.HasHost(n.Text, "https"):
		v.report(v.prose, ruleIconHTTPS, n, "src %s has no host", jsonpos.Quote(n.Text)).suggest("write it in full, such as https://example.com/icon.png")
	}
}

func iconSize(v *validator, n *Node) {
	if !v.mustBe(n, KindString) || n.Text == "any" {
		return
	}
	width, height, _ := strings.Cut(n.Text, "x")
	if !grammar.IsDigits(width) || !grammar.IsDigits(height) {
		v.fault(ruleIconSize, n, "%s is %s, which is not a size", v.subject(), jsonpos.Quote(n.Text)).
			suggest(`write width and height in digits with an x between them, such as "48x48", or "any"`)
	}
}

func sha256Hex(v *validator, n *Node) {
	if !v.mustBe(n, KindString) || grammar.IsSHA256(n.Text) {
		return
	}
	if lower := strings.ToLower(n.Text); grammar.IsSHA256(lower) && len(n.Text) == len(lower) {
		v.fault(ruleSHA256, n, "fileSha256 has upper case letters").suggest("write it in lower case").fix(n.Start, n.End, `"`+lower+`"`)
		return
	}
	v.fault(ruleSHA256, n, "fileSha256 is %s, which is not 64 hexadecimal characters", jsonpos.Quote(n.Text)).
		suggestFor(n, "write what sha256sum prints for the file")
}

func registryType(v *validator, n *Node) {
	if !v.mustBe(n, KindString) {
		return
	}
	for _, label := range grammar.RegistryTypes() {
		if n.Text != label && strings.EqualFold(n.Text, label) {
			v.warn(ruleLabelCase, n, "registryType %s is the well-known %q in another case", jsonpos.Quote(n.Text), label).
				suggest("write it in lower case").fix(n.Start, n.End, `"`+label+`"`)
		}
	}
	v.placeholder(n, "npm, pypi, oci, nuget, cargo or mcpb")
}

func identifier(v *validator, n *Node) {
	if !v.mustBe(n, KindString) {
		return
	}
	if n.Text == "" {
		v.report(v.registryError(), ruleIdentifierEmpty, n, "%s is empty", v.subject()).suggest("write the name of the package, or the URL of the file")
		return
	}
	v.placeholder(n, "the name of the package, as its registry has it,")
	if v.registry && strings.Contains(n.Text, " ") {
		v.fault(ruleIdentifierSpace, n, "identifier %s has a space", jsonpos.Quote(n.Text)).suggest("write the name of the package without spaces")
	}
}

// subfolder checks a clean relative path. An empty one is the root of the repository.
func subfolder(v *validator, n *Node) {
	if !v.mustBe(n, KindString) || n.Text == "" {
		return
	}
	if reason := pathFault(n.Text); reason != "" {
		v.report(v.prose, ruleSubfolder, n, "subfolder %s %s", jsonpos.Quote(n.Text), reason).
			suggest("write a clean path relative to the root of the repository, such as src/server")
	} else if v.registry && !grammar.Only(n.Text, "-_./") {
		v.fault(ruleSubfolderChars, n, "subfolder %s has a character that is not a letter, digit, '-', '_', '.' or '/'", jsonpos.Quote(n.Text))
	}
}

// pathFault returns why p is not a clean relative path, or "".
func pathFault(p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return "begins with a slash"
	case strings.HasSuffix(p, "/"):
		return "ends with a slash"
	case strings.Contains(p, `\`):
		return "has a backslash"
	case len(p) > 1 && grammar.IsLetter(p[0]) && p[1] == ':':
		return "names a drive"
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "has a control character"
	case strings.ContainsFunc(p, grammar.IsSpace):
		return "has white space"
	}
	for segment := range strings.SplitSeq(p, "/") {
		switch segment {
		case "":
			return "has two slashes in a row"
		case ".", "..":
			return "has a segment " + segment
		}
	}
	return ""
}

// httpURL checks the url of a streamable-http transport: first any string, later a
// template.
func httpURL(v *validator, n *Node) {
	if v.mustBe(n, KindString) && !v.plainURLs {
		v.template(n)
	}
}

// sseURL checks the url of an sse transport: first a URI, later a template.
func sseURL(v *validator, n *Node) {
	if v.plainURLs {
		v.isURI(n)
	} else {
		httpURL(v, n)
	}
}

func (v *validator) template(n *Node) {
	reason := grammar.TemplateFault(n.Text, v.variableFirst)
	if reason == "" {
		if !v.registry || !strings.Contains(n.Text, "{") { // else reported by urlVariables
			v.placeholder(n, "the url of the server, or a variable in braces,")
		}
		return
	}
	beginnings := "https:// or http://"
	if v.variableFirst {
		beginnings = "https://, http:// or a variable such as {baseUrl}"
	}
	v.fault(ruleURLTemplate, n, "url %s %s", jsonpos.Quote(n.Text), reason).
		suggestFor(n, "write a url that begins with "+beginnings+" and has no white space")
}

// maxVariables limits the variables that are looked up for one url.
const maxVariables = 100

// urlVariables reports undeclared variables in the url of a transport, which stay in the
// url unchanged, and requires a scheme and a host outside of the variables for a registry, for which it returns the url with
// a digit for each variable, nil if it has been reported.
func (v *validator) urlVariables(transport *Node, declared func(name string) bool, where string) (filled *url.URL) {
	link := transport.Get("url")
	if grammar.TemplateFault(stringOf(link), true) != "" {
		return nil // reported already
	}
	v.at("url", func() {
		severity, rule := Warning, ruleUnknownVariable
		var names []string
		if v.registry {
			severity, rule = Error, ruleURLVariable
			names = grammar.RegistryVariables(link.Text, maxVariables)
		} else if grammar.Placeholder(link.Text) == "" { // which looks like a variable and is reported
			names = grammar.Variables(link.Text, maxVariables)
		}
		for _, name := range names {
			if !declared(name) {
				v.report(severity, rule, link, "undeclared variable %s in the url", jsonpos.Quote("{"+name+"}")).
					suggestFor(link, "declare it in "+where+", or write its value")
			}
		}
		if !v.registry {
			return
		}
		if filled = filledIn(link.Text); filled == nil {
			v.fault(ruleURLHost, link, "url %s has no http or https scheme with a host", jsonpos.Quote(link.Text)).
				suggest("begin it with https:// or http:// and a host, which may be a variable")
		}
	})
	return filled
}
