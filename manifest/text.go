package manifest

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// text is a check of a string's length in code points.
func text(least, most int) check {
	return func(v *validator, n *Node) {
		if v.is(n, KindString) {
			v.length(n, least, most)
		}
	}
}

func (v *validator) length(n *Node, least, most int) bool {
	switch c := count(n.Text); {
	case c < least:
		v.fault(RuleLength, n, "%s must not be empty", v.trail.subject()).suggest("write 1 to %d characters", most)
		return false
	case c > most:
		v.fault(RuleLength, n, "%s has %d characters, and at most %d are allowed", v.trail.subject(), c, most).
			suggest("shorten it by %d", c-most)
		return false
	}
	return true
}

// oneOf is a check of a string that has to be one of a few.
func oneOf(allowed ...string) check {
	return func(v *validator, n *Node) {
		if v.is(n, KindString) {
			v.among(n, allowed)
		}
	}
}

func (v *validator) among(n *Node, allowed []string) bool {
	if slices.Contains(allowed, n.Text) {
		return true
	}
	p := v.fault(RuleChoice, n, "%s is %s, which is not allowed", v.trail.subject(), show(n.Text))
	if meant := nearest(n.Text, allowed); meant != "" {
		p.suggest("did you mean %q?", meant).fix(n.Start, n.End, `"`+meant+`"`)
	} else {
		p.suggest("use %s", alternatives(allowed))
	}
	return false
}

// alternatives is "a", "a or b", "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest returns the allowed word that a misspelled one was probably meant to be,
// or "". Short words may differ only in case and punctuation.
func nearest(word string, words []string) string {
	edits := 1
	if len(word) <= 4 {
		edits = 0
	}
	return suggest.Closest(word, words, edits)
}

func title(v *validator, n *Node) {
	if v.is(n, KindString) && v.length(n, 1, 100) && v.registry && strings.TrimSpace(n.Text) == "" {
		v.fault(RuleBlankTitle, n, "title is blank").suggest("write a name, or leave it out")
	}
}

// serverName wants namespace/name. Its own length follows from its form, but for
// the upper limit.
func serverName(v *validator, n *Node) {
	if !v.is(n, KindString) {
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
	case !only(space, ".-"):
		reason = "has a namespace with other characters than letters, digits, dots and hyphens"
	case !only(name, "._-"):
		reason = "has other characters after the slash than letters, digits, dots, underscores and hyphens"
	}
	if reason != "" {
		p := v.fault(RuleName, n, "name is %s and %s", show(n.Text), reason)
		v.hintPlaceholder(p, n, "write a namespace in reverse-DNS form, one slash and a name: com.example/weather")
		return
	}
	if v.length(n, 3, 200) {
		v.nameParts(n, space, name)
	}
}

// only says that a string has nothing but ASCII letters, digits and some others.
func only(s, others string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool { return isDigit(c) || isLetter(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// iconSize wants <width>x<height> in digits, or any.
func iconSize(v *validator, n *Node) {
	if !v.is(n, KindString) || n.Text == "any" {
		return
	}
	width, height, ok := strings.Cut(n.Text, "x")
	if !ok || !allDigits(width) || !allDigits(height) {
		v.fault(RuleIconSize, n, "%s is %s, which is no size", v.trail.subject(), show(n.Text)).
			suggest(`write width and height in digits with a small x between, as "48x48", or "any"`)
	}
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// sha256Hex wants 64 characters of lowercase hexadecimal.
func sha256Hex(v *validator, n *Node) {
	if !v.is(n, KindString) {
		return
	}
	lower := strings.ToLower(n.Text)
	hex := len(n.Text) == 64
	for i := range len(n.Text) {
		hex = hex && isHex(n.Text[i])
	}
	switch {
	case hex && lower == n.Text:
	case hex:
		v.fault(RuleSHA256, n, "fileSha256 has upper case letters").
			suggest("write it in lower case").fix(n.Start, n.End, `"`+lower+`"`)
	default:
		p := v.fault(RuleSHA256, n, "fileSha256 is %s, which is not 64 hexadecimal characters", show(n.Text))
		v.hintPlaceholder(p, n, "write what sha256sum prints for the file")
	}
}

// wellKnown are the labels that the public format's documents use.
var wellKnown = [...]string{"npm", "pypi", "oci", "nuget", "mcpb", "cargo"}

func registryType(v *validator, n *Node) {
	if !v.is(n, KindString) {
		return
	}
	for _, label := range wellKnown {
		if n.Text != label && strings.EqualFold(n.Text, label) {
			v.warn(RuleLabelCase, n, "registryType %s is not the well-known %q", show(n.Text), label).
				suggest("write it in lower case").fix(n.Start, n.End, `"`+label+`"`)
		}
	}
	v.placeholder(n)
}

func identifier(v *validator, n *Node) {
	if !v.is(n, KindString) {
		return
	}
	v.placeholder(n)
	if v.registry && strings.Contains(n.Text, " ") {
		v.fault(RuleIdentifierSpace, n, "identifier is %s and has a space", show(n.Text)).suggest("write the package's name without spaces")
	}
}

// subfolder wants a path that stays in the repository and is written in one way.
// An empty one is the root, as no subfolder is.
func subfolder(v *validator, n *Node) {
	if !v.is(n, KindString) || n.Text == "" {
		return
	}
	if reason := uncleanPath(n.Text); reason != "" {
		v.report(v.prose, RuleSubfolder, n, "subfolder is %s and %s", show(n.Text), reason).
			suggest("write a clean relative path from the root of the repository, as src/server")
		return
	}
	if v.registry && !only(n.Text, "-_./") {
		v.fault(RuleSubfolderChars, n, "subfolder is %s and has other characters than letters, digits, '-', '_', '.' and '/'", show(n.Text))
	}
}

func uncleanPath(p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return "begins with a slash"
	case strings.HasSuffix(p, "/"):
		return "ends with a slash"
	case strings.Contains(p, `\`):
		return "has a backslash"
	case len(p) > 1 && isLetter(p[0]) && p[1] == ':':
		return "names a drive"
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "has a control character"
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
