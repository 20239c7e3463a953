package sanitize

import (
	_ "embed" // the names of elements
	"regexp"
	"strings"
	"unicode"
)

// harmless reports whether every "<" of a text is plain text, part of tag-like text, or a
// comparison.
//
// Tag-like text is what a parser takes for a tag of an element that HTML, SVG and MathML don't
// have, without values of attributes: <core-1>, <vPC for OTV>. A comparison is "<" between
// words without a ">" after it, as in a<b: its tag never ends.
func harmless(s string) bool {
	lastEnd, lastValue := strings.LastIndexByte(s, '>'), strings.LastIndexAny(s, "=\"'`")
	for i := strings.IndexByte(s, '<'); i >= 0; {
		rest := s[i+1:]
		end := strings.IndexAny(rest, "<>")
		inner := rest
		if end >= 0 {
			inner = rest[:end]
		}
		switch {
		case !startsMarkup(rest):
		case end >= 0 && rest[end] == '>':
			if !tagLike(inner) {
				return false
			}
		case i < lastEnd || i < lastValue || !comparison(s[:i], inner):
			return false
		}
		if end >= 0 && rest[end] == '>' {
			end = strings.IndexByte(rest, '<')
		}
		if end < 0 {
			return true
		}
		i += 1 + end
	}
	return true
}

// startsMarkup reports whether text after a "<" can make it the start of a tag or a comment
// (HTML Living Standard, 13.2.5.6).
func startsMarkup(rest string) bool {
	if rest == "" {
		return false
	}
	c := rest[0] | ' ' // lower case
	return 'a' <= c && c <= 'z' || strings.IndexByte("/!?", rest[0]) >= 0
}

// tagLike reports whether the text between "<" and ">" is a tag of an unknown element without
// values of attributes.
func tagLike(inner string) bool {
	m := tag.FindStringSubmatch(inner)
	if m == nil || elements[localName(m[2])] || strings.ContainsFunc(inner, notInTag) {
		return false
	}
	if m[1] != "" {
		return m[3] == ""
	}
	for word := range strings.FieldsFuncSeq(m[3], func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		if switches[strings.ToLower(word)] {
			return false
		}
	}
	return true
}

// comparison reports whether "<" between a text and what follows it, up to the next "<" or the
// end, compares two words: a<b, rx<tx. One letter is the name of a variable and not of an
// element, because a tag without an end and without values has no effect.
func comparison(before, after string) bool {
	if before == "" || !strings.ContainsFunc(before[len(before)-1:], alphanumeric) {
		return false
	}
	m := tag.FindStringSubmatch(after)
	return m != nil && m[1] == "" && (len(m[2]) == 1 || !elements[localName(m[2])] && !strings.ContainsFunc(m[2], notInTag))
}

// separators are the characters that end the name of a tag.
const separators = " \t\n\f\r/"

// tag matches the inside of a tag: the slash of an end tag, the name, and the text after it.
var tag = regexp.MustCompile(`(?s)^(/?)([A-Za-z][^` + separators + `]*)(.*)$`)

// localName returns a name in lower case, without the prefix of a namespace.
func localName(name string) string {
	return strings.ToLower(name[strings.LastIndexByte(name, ':')+1:])
}

func alphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// notInTag reports whether tag-like text may not contain a character: those that begin values
// and entities, control characters, and characters that programs may convert to ASCII letters
// or signs, such as fullwidth ones.
func notInTag(c rune) bool {
	switch {
	case c < ' ' && c != '\t' || strings.ContainsRune("=\"'`&<>\x7f", c):
		return true
	case c <= unicode.MaxASCII:
		return false
	case 0xC0 <= c && c <= 0x17E: // Latin letters with accents
		return c == 0xD7 || c == 0xF7 || c == 0x130 || c == 0x131 || c == 0x132 || c == 0x133 || c == 0x13F || c == 0x140 || c == 0x149
	}
	return !unicode.IsLetter(c) || !unicode.In(c, unicode.Cyrillic, unicode.Greek, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// switches are the attributes that have an effect on any element without a value.
var switches = words("autofocus contenteditable hidden inert popover")

// elements are the names of elements of HTML (living and obsolete), SVG and MathML, in lower
// case, and those that browsers have added.
var elements = words(elementNames)

//go:embed elements.txt
var elementNames string

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
