package manifest

import (
	"slices"
	"strings"
)

// urlTemplate wants what the specification calls a url template: http://, https://
// or a variable in braces, and no white space. An older schema leaves it free.
func urlTemplate(v *validator, n *Node) {
	if v.is(n, KindString) && !v.uriSSE {
		v.template(n)
	}
}

// sseURL is the url of an sse transport, once a URI and then a template.
func sseURL(v *validator, n *Node) {
	switch {
	case !v.is(n, KindString):
	case v.uriSSE:
		v.uri(n)
	default:
		v.template(n)
	}
}

func (v *validator) template(n *Node) {
	reason := templateFault(n.Text, v.variableFirst)
	if reason == "" {
		v.placeholder(n)
		return
	}
	beginnings := "https:// or http://"
	if v.variableFirst {
		beginnings = "https://, http:// or a variable as {baseUrl}"
	}
	p := v.fault(RuleURLTemplate, n, "url is %s and %s", show(n.Text), reason)
	v.hintPlaceholder(p, n, "write a url that begins with %s and has no white space", beginnings)
}

// templateFault says what is wrong with a url template, or "".
func templateFault(s string, variableFirst bool) string {
	rest, plain := strings.CutPrefix(s, "https://")
	if !plain {
		rest, plain = strings.CutPrefix(s, "http://")
	}
	switch {
	case s == "":
		return "is empty"
	case strings.ContainsFunc(s, isSpace):
		return "has white space"
	case plain && rest == "":
		return "ends after its scheme"
	case plain:
		return ""
	case s[0] != '{':
		return "has another scheme, or none"
	case !variableFirst:
		return "begins with a variable, which this schema does not allow"
	}
	name, _, closed := strings.Cut(s[1:], "}")
	switch {
	case !closed:
		return "has a brace that is not closed"
	case !isVariable(name):
		return "begins with braces that hold no variable's name (letters, digits and underscores, no digit first)"
	}
	return ""
}

// isVariable says that s can be the variable that a url begins with.
func isVariable(s string) bool { return s != "" && !isDigit(s[0]) && only(s, "_") }

// isSpace is white space as regular expressions of JSON schemas have it
// (ECMA-262). That is not what package unicode calls so.
func isSpace(c rune) bool {
	switch c {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= c && c <= 0x200A
}

// variables returns the names in braces of a url template, each once, and no more
// than the first maxVariables. Names of arguments may have dashes.
func variables(s string) []string {
	var names []string
	for len(names) < maxVariables {
		_, name, rest := cutVariable(s)
		if name == "" {
			break
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		s = rest
	}
	return names
}

// maxVariables bounds what is looked up for one url.
const maxVariables = 100

// cutVariable cuts s around its first variable. The name is "" if there is none.
func cutVariable(s string) (before, name, after string) {
	for open := -1; ; {
		next := strings.IndexAny(s[open+1:], "{}")
		if next < 0 {
			return s, "", ""
		}
		next += open + 1
		if s[next] == '}' && open >= 0 && s[open] == '{' && next > open+1 {
			return s[:open], s[open+1 : next], s[next+1:]
		}
		open = next
	}
}

// urlVariables reports variables of a transport's url that nothing declares. They
// stay as they are when the url is used, which is hardly meant.
func (v *validator) urlVariables(transport *Node, declared map[string]bool, where string) {
	url := transport.Get("url")
	if templateFault(stringOf(url), true) != "" {
		return // reported already
	}
	v.trail.key("url")
	defer v.trail.pop()
	severity, rule := Warning, RuleUnknownVariable
	if v.registry {
		severity, rule = Error, RuleURLVariable
	}
	var names []string
	if findPlaceholder(url.Text) == "" { // which looks like variables and is reported
		names = variables(url.Text)
	}
	for _, name := range names {
		if declared[name] {
			continue
		}
		v.report(severity, rule, url, "the variable %s of the url is not among %s", show("{"+name+"}"), where).
			suggest("declare it there, or write what it stands for")
	}
	v.urlHost(url)
}

// keysOf is the set of an object's keys.
func keysOf(n *Node) map[string]bool {
	keys := make(map[string]bool)
	if n != nil {
		for i := range n.Members {
			keys[n.Members[i].Key] = true
		}
	}
	return keys
}

// packageNames are what the variables of a package's url may name.
func packageNames(n *Node) map[string]bool {
	names := make(map[string]bool)
	for _, source := range [...]struct{ list, key string }{
		{"runtimeArguments", "name"},
		{"runtimeArguments", "valueHint"},
		{"packageArguments", "name"},
		{"packageArguments", "valueHint"},
		{"environmentVariables", "name"},
	} {
		if l := n.Get(source.list); l != nil {
			for i := range l.Elements {
				names[stringOf(l.Elements[i].Get(source.key))] = true
			}
		}
	}
	return names
}
