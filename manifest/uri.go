package manifest

import (
	"net/netip"
	"strings"
)

// uri wants a URI as RFC 3986 defines it: absolute, and ASCII only. The parser of
// net/url is none: it takes what only a browser would.
func uri(v *validator, n *Node) {
	if v.is(n, KindString) {
		v.uri(n)
	}
}

func (v *validator) uri(n *Node) bool {
	reason := uriFault(n.Text)
	if reason == "" {
		return true
	}
	p := v.fault(RuleURI, n, "%s is %s and not a URI: %s", v.trail.subject(), show(n.Text), reason)
	suggestion := "write it in full, as https://example.com/path"
	if rest, scp := strings.CutPrefix(n.Text, "git@"); scp {
		suggestion = "write https://" + strings.Replace(rest, ":", "/", 1)
	}
	v.hintPlaceholder(p, n, "%s", suggestion)
	return false
}

// schemaURI is the check of $schema.
func schemaURI(v *validator, n *Node) {
	if v.is(n, KindString) && v.uri(n) && v.registry {
		v.schemaDate(n)
	}
}

func website(v *validator, n *Node) {
	if v.is(n, KindString) && v.uri(n) && v.registry && !hasScheme(n.Text, "https") {
		v.fault(RuleWebsiteHTTPS, n, "websiteUrl is %s and not https", show(n.Text)).suggest("use https")
	}
}

// iconSource wants an https URI of at most 255 characters.
func iconSource(v *validator, n *Node) {
	if !v.is(n, KindString) || !v.uri(n) || !v.length(n, 0, 255) {
		return
	}
	if !hasScheme(n.Text, "https") {
		v.report(v.prose, RuleIconHTTPS, n, "src is %s and not https", show(n.Text)).suggest("use https")
	}
}

func hasScheme(uri, scheme string) bool {
	got, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(got, scheme)
}

// Characters that the parts of a URI have besides letters, digits and escapes
// (RFC 3986, appendix A).
const (
	unreserved = "-._~"
	subDelims  = "!$&'()*+,;="
	inUserinfo = unreserved + subDelims + ":"
	inName     = unreserved + subDelims
	inPath     = unreserved + subDelims + ":@/"
	inQuery    = inPath + "?"
)

// uriFault says what is wrong with a URI, or "".
func uriFault(s string) string {
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return "it is empty"
	case !ok || !isScheme(scheme):
		return "it has no scheme such as https:"
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if !made(fragment, inQuery) || !made(query, inQuery) {
		return "its query or fragment has a character that must be escaped"
	}
	path := rest
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		end := strings.IndexByte(authority, '/')
		if end < 0 {
			end = len(authority)
		}
		if !isAuthority(authority[:end]) {
			return "its host is not valid"
		}
		path = authority[end:]
	}
	if !made(path, inPath) {
		return "its path has a character that must be escaped"
	}
	return ""
}

func isScheme(s string) bool { return s != "" && isLetter(s[0]) && only(s, "+-.") }

// made says that a part of a URI consists of the characters it may.
func made(s, others string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		case !isAlphanumeric(c) && strings.IndexByte(others, c) < 0:
			return false
		}
	}
	return true
}

// isAuthority checks [userinfo@]host[:port]. The host may be empty, as in
// file:///etc.
func isAuthority(s string) bool {
	if at := strings.IndexByte(s, '@'); at >= 0 {
		if !made(s[:at], inUserinfo) {
			return false
		}
		s = s[at+1:]
	}
	if strings.HasPrefix(s, "[") {
		host, port, ok := strings.Cut(s[1:], "]")
		return ok && isLiteral(host) && (port == "" || port[0] == ':' && isPort(port[1:]))
	}
	host, port, _ := strings.Cut(s, ":")
	return made(host, inName) && isPort(port)
}

func isPort(s string) bool { return s == "" || allDigits(s) }

// isLiteral checks what stands in brackets: an IPv6 address without a zone, or a
// later version's.
func isLiteral(s string) bool {
	if s != "" && s[0]|0x20 == 'v' {
		version, address, ok := strings.Cut(s[1:], ".")
		return ok && isHexDigits(version) && address != "" && !strings.Contains(address, "%") && made(address, inUserinfo)
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

func isHexDigits(s string) bool {
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return s != ""
}
