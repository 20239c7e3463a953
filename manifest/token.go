package manifest

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// literal reads true, false or null.
func (r *reader) literal(n *Node) bool {
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(r.text[r.pos:], word) {
			n.Text = word
			if word != "null" {
				n.Kind = KindBoolean
			}
			r.pos += len(word)
			return true
		}
	}
	r.unexpected("a value")
	return false
}

// number reads a number as RFC 8259, section 6, has it. It keeps the literal: a
// number may be larger or more exact than any type of Go.
func (r *reader) number(n *Node) bool {
	start := r.pos
	if r.peek() == '-' {
		r.pos++
	}
	switch first := r.peek(); {
	case first == '0':
		r.pos++
	case !r.digits():
		r.unexpected("a digit")
		return false
	}
	if c := r.peek(); '0' <= c && c <= '9' {
		r.fault(RuleSyntax, start, "a number begins with a zero")
		r.hint("remove the zero, or make it a string", nil)
		return false
	}
	if !r.fraction() || !r.exponent() {
		return false
	}
	n.Text = r.text[start:r.pos]
	return true
}

func (r *reader) digits() bool {
	start := r.pos
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.pos++
	}
	return r.pos > start
}

func (r *reader) fraction() bool {
	if r.peek() != '.' {
		return true
	}
	r.pos++
	if !r.digits() {
		r.unexpected("a digit after the point")
		return false
	}
	return true
}

func (r *reader) exponent() bool {
	if c := r.peek(); c != 'e' && c != 'E' {
		return true
	}
	r.pos++
	if c := r.peek(); c == '+' || c == '-' {
		r.pos++
	}
	if !r.digits() {
		r.unexpected("a digit of the exponent")
		return false
	}
	return true
}

// string reads a string. One without escapes shares the memory of the document.
func (r *reader) string() (string, bool) {
	open := r.pos
	r.pos++
	start := r.pos
	var decoded strings.Builder // of what precedes start, once there was an escape
	text := func() string {
		if decoded.Len() == 0 {
			return r.text[start:r.pos]
		}
		return decoded.String() + r.text[start:r.pos]
	}
	faulty := false
	for r.pos < len(r.text) {
		switch c := r.text[r.pos]; {
		case c == '"':
			s := text()
			r.pos++
			if faulty {
				s = strings.ToValidUTF8(s, "\uFFFD")
			}
			return s, true
		case c == '\\':
			decoded.WriteString(r.text[start:r.pos])
			if !r.escape(&decoded, &faulty) {
				return "", false
			}
			start = r.pos
		case c < ' ':
			r.controlInString(c)
			return "", false
		case c < utf8.RuneSelf:
			r.pos++
		default:
			r.rune(&faulty)
		}
	}
	r.fault(RuleSyntax, open, "a string begins here and has no end")
	r.hint("add the closing quote", nil)
	return "", false
}

// rune steps over a character beyond ASCII, and reports the first of a string that
// is not UTF-8.
func (r *reader) rune(faulty *bool) {
	c, size := utf8.DecodeRuneInString(r.text[r.pos:])
	if c == utf8.RuneError && size == 1 && !*faulty {
		*faulty = true
		r.fault(RuleEncoding, r.pos, "the byte 0x%02X is not UTF-8", r.text[r.pos])
		r.hint("save the file as UTF-8", nil)
	}
	r.pos += size
}

func (r *reader) controlInString(c byte) {
	names := map[byte]string{'\n': "a line break: write \\n, or close the string", '\r': "a line break: write \\r, or close the string", '\t': "a tab: write \\t"}
	name, ok := names[c]
	if !ok {
		name = fmt.Sprintf("the control character U+%04X: write \\u%04x", c, c)
	}
	r.fault(RuleSyntax, r.pos, "a string holds %s", name)
}

// simpleEscapes are the letters after a backslash and what each means.
const (
	simpleEscapes = `"\/bfnrt`
	simpleMeaning = "\"\\/\b\f\n\r\t"
)

// escape reads an escape sequence. A surrogate without its other half is reported
// and becomes U+FFFD.
func (r *reader) escape(to *strings.Builder, faulty *bool) bool {
	start := r.pos
	r.pos++
	c := r.peek()
	if i := strings.IndexByte(simpleEscapes, c); i >= 0 {
		r.pos++
		to.WriteByte(simpleMeaning[i])
		return true
	}
	if c != 'u' {
		r.fault(RuleSyntax, start, "a backslash is followed by something that is no escape sequence")
		r.hint(`write \\ for a backslash`, nil)
		return false
	}
	code, ok := r.unicode()
	if ok && utf16.IsSurrogate(code) {
		code = r.surrogate(start, code, faulty)
	}
	to.WriteRune(code)
	return ok
}

// surrogate reads the second half of a pair, if it is there.
func (r *reader) surrogate(start int, first rune, faulty *bool) rune {
	if rest := r.pos; strings.HasPrefix(r.text[r.pos:], `\u`) {
		r.pos++
		if second, ok := hex4(r.text, r.pos+1); ok {
			if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
				r.pos += len("uXXXX")
				return pair
			}
		}
		r.pos = rest
	}
	if !*faulty {
		*faulty = true
		r.fault(RuleSurrogate, start, `\u%04x is one half of a surrogate pair, and the other half is missing`, first)
		r.hint("write the character itself, or both halves", nil)
	}
	return utf8.RuneError
}

// unicode reads the u of an escape and four digits.
func (r *reader) unicode() (rune, bool) {
	code, ok := hex4(r.text, r.pos+1)
	if !ok {
		r.fault(RuleSyntax, r.pos-1, `\u must be followed by four hexadecimal digits`)
		return 0, false
	}
	r.pos += len("uXXXX")
	return code, true
}

func hex4(s string, at int) (rune, bool) {
	if len(s) < at+4 {
		return 0, false
	}
	var code rune
	for _, c := range []byte(s[at : at+4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		code = code<<4 | rune(c)
	}
	return code, true
}

// unexpected reports what stands here in place of what should. It shows one
// character at most: what is here may belong to a secret.
func (r *reader) unexpected(want string) {
	if r.pos >= len(r.text) {
		r.fault(RuleSyntax, r.pos, "the document ends where %s should be", want)
		return
	}
	c, size := utf8.DecodeRuneInString(r.text[r.pos:])
	if c == utf8.RuneError && size == 1 {
		r.fault(RuleSyntax, r.pos, "there is a byte 0x%02X where %s should be", r.text[r.pos], want)
		return
	}
	r.fault(RuleSyntax, r.pos, "there is %q where %s should be", c, want)
	r.hint(misspelled(r.text[r.pos:]), nil)
}

// misspelled says what would be right in place of what other notations allow.
func misspelled(s string) string {
	for _, known := range [...]struct{ prefix, say string }{
		{"//", "JSON has no comments: remove it"},
		{"/*", "JSON has no comments: remove it"},
		{"#", "JSON has no comments: remove it"},
		{"'", `strings and keys are written in double quotes: "..."`},
		{"NaN", "JSON has no NaN: leave it out or write a string"},
		{"Infinity", "JSON has no Infinity: leave it out or write a string"},
		{"True", "write true"},
		{"False", "write false"},
		{"None", "write null, or leave it out"},
		{"undefined", "write null, or leave it out"},
		{"x", "JSON has no hexadecimal numbers: write it in decimal"},
		{"+", "a positive number has no sign"},
		{".", "a number begins with a digit: 0.5"},
		{"\"", "is a comma missing before it?"},
		{"{{", "this looks like a placeholder of a release template: fill it in first"},
	} {
		if strings.HasPrefix(s, known.prefix) {
			return known.say
		}
	}
	return ""
}
