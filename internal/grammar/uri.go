package grammar

import (
	"net/netip"
	"slices"
	"strings"
)

// Characters that the parts of a URI may have besides letters, digits and escapes
// (RFC 3986, appendix A).
const (
	Unreserved = "-._~"
	SubDelims  = "!$&'()*+,;="
	inUserinfo = Unreserved + SubDelims + ":"
	inName     = Unreserved + SubDelims
	inPath     = Unreserved + SubDelims + ":@/"
	inQuery    = inPath + "?"
)

// URIFault returns why s is not a URI as defined by RFC 3986: absolute and in ASCII.
// Package net/url accepts more than that.
func URIFault(s string) string {
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return "it is empty"
	case !ok || scheme == "" || !IsLetter(scheme[0]) || !Only(scheme, "+-."):
		return "it has no scheme such as https:"
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	if !hasOnly(fragment, inQuery) || !hasOnly(query, inQuery) {
		return "its query or fragment has a character that must be escaped"
	}
	if authority, ok := strings.CutPrefix(path, "//"); ok {
		end := strings.IndexByte(authority, '/')
		if end < 0 {
			end = len(authority)
		}
		if !isAuthority(authority[:end]) {
			return "its host is not valid"
		}
		path = authority[end:]
	}
	if !hasOnly(path, inPath) {
		return "its path has a character that must be escaped"
	}
	return ""
}

// HasScheme reports whether a URI has a scheme, in either case.
func HasScheme(uri, scheme string) bool {
	got, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(got, scheme)
}

// HasHost reports whether a URI has a scheme and a host: https:x and https:///x have none.
func HasHost(uri, scheme string) bool {
	rest, ok := strings.CutPrefix(uri[min(len(scheme), len(uri)):], "://")
	return ok && HasScheme(uri, scheme) && rest != "" && strings.IndexByte("/?#:", rest[0]) < 0
}

// hasOnly reports whether a part of a URI has nothing but letters, digits, others and
// escapes.
func hasOnly(s, others string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) || !IsHex(s[i+1:i+3]) {
				return false
			}
		case !IsAlphanumeric(c) && strings.IndexByte(others, c) < 0:
			return false
		}
	}
	return true
}

// isAuthority checks [userinfo@]host[:port]. The host may be empty, as in file:///etc.
func isAuthority(s string) bool {
	if user, host, ok := strings.Cut(s, "@"); ok {
		if !hasOnly(user, inUserinfo) {
			return false
		}
		s = host
	}
	if strings.HasPrefix(s, "[") {
		host, port, ok := strings.Cut(s[1:], "]")
		return ok && isIPLiteral(host) && (port == "" || port[0] == ':' && isPort(port[1:]))
	}
	host, port, _ := strings.Cut(s, ":")
	return hasOnly(host, inName) && isPort(port)
}

func isPort(s string) bool { return s == "" || IsDigits(s) }

// isIPLiteral checks what stands in brackets: an IPv6 address without a zone, or an
// address of a later version.
func isIPLiteral(s string) bool {
	if s != "" && s[0]|0x20 == 'v' {
		version, address, ok := strings.Cut(s[1:], ".")
		return ok && IsHex(version) && address != "" && !strings.Contains(address, "%") && hasOnly(address, inUserinfo)
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// TemplateFault returns why s is not a url template: http:// or https:// and more, or a
// variable in braces if variableFirst, and no white space.
func TemplateFault(s string, variableFirst bool) string {
	rest, hasScheme := strings.CutPrefix(s, "https://")
	if !hasScheme {
		rest, hasScheme = strings.CutPrefix(s, "http://")
	}
	switch {
	case s == "":
		return "is empty"
	case strings.ContainsFunc(s, IsSpace):
		return "has white space"
	case hasScheme && rest == "":
		return "ends after its scheme"
	case hasScheme:
		return ""
	case s[0] != '{':
		return "does not begin with http:// or https://"
	case !variableFirst:
		return "begins with a variable, which this schema does not allow"
	}
	name, _, closed := strings.Cut(s[1:], "}")
	switch {
	case !closed:
		return "has an unclosed brace"
	case name == "" || isDigit(name[0]) || !Only(name, "_"):
		return "begins with braces without a variable name (letters, digits and underscores, no digit first)"
	}
	return ""
}

// CutVariable cuts s around its first {variable}. The name is "" if there is none. Names
// may have any characters but braces.
func CutVariable(s string) (before, name, after string) {
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

// RegistryVariables returns the variables in s as a public registry finds them: each from a
// brace to the next closing one. In {{x}} that is "{x".
func RegistryVariables(s string, limit int) []string {
	var names []string
	for len(names) < limit {
		_, after, open := strings.Cut(s, "{")
		name, rest, closed := strings.Cut(after, "}")
		switch {
		case !open || !closed:
			return names
		case name == "":
			s = after
			continue
		case !slices.Contains(names, name):
			names = append(names, name)
		}
		s = rest
	}
	return names
}

// Variables returns the names of the variables in s, each once and in order, but no more
// than limit. A limit of 0 means no limit.
func Variables(s string, limit int) []string {
	var names []string
	seen := make(map[string]bool)
	for limit <= 0 || len(names) < limit {
		_, name, rest := CutVariable(s)
		if name == "" {
			break
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		s = rest
	}
	return names
}
