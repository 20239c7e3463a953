package jsonpos

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// literal reads true, false or null.
func (p *parser) literal(n *Node) bool {
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.Text[p.pos:], word) {
			n.Text = word
			if word != "null" {
				n.Kind = Boolean
			}
			p.pos += len(word)
			return true
		}
	}
	p.unexpected("a value")
	return false
}

// number reads a number (RFC 8259, section 6) and keeps its literal, because no type of
// Go holds every number.
func (p *parser) number(n *Node) bool {
	if p.peek() == '-' {
		p.pos++
	}
	first := p.pos
	if !p.digits("a digit") {
		return false
	}
	if p.Text[first] == '0' && p.pos > first+1 {
		p.problem(Syntax, n.Start, "a number has a leading zero")
		p.suggest("remove the zero, or write a string", nil)
		return false
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits("a digit after the decimal point") {
			return false
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits("a digit of the exponent") {
			return false
		}
	}
	n.Text = p.Text[n.Start:p.pos]
	return true
}

func (p *parser) digits(want string) bool {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	if p.pos == start {
		p.unexpected(want)
	}
	return p.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// string reads a string. One without escapes shares the memory of the text.
func (p *parser) string() (string, bool) {
	open := p.pos
	p.pos++
	start := p.pos
	var decoded strings.Builder // what precedes start, after the first escape
	reported := false           // a fault of the encoding
	for {
		p.plain()
		if p.pos >= len(p.Text) {
			break
		}
		switch c := p.Text[p.pos]; {
		case c == '"':
			s := p.Text[start:p.pos]
			if decoded.Len() > 0 {
				s = decoded.String() + s
			}
			p.pos++
			if reported {
				s = strings.ToValidUTF8(s, "\uFFFD")
			}
			return s, true
		case c == '\\':
			decoded.WriteString(p.Text[start:p.pos])
			if !p.escape(&decoded, &reported) {
				return "", false
			}
			start = p.pos
		case c < ' ':
			p.controlCharacter(c)
			return "", false
		default:
			r, size := utf8.DecodeRuneInString(p.Text[p.pos:])
			if r == utf8.RuneError && size == 1 && !reported {
				reported = true
				p.problem(Encoding, p.pos, "invalid UTF-8: byte 0x%02X", c)
				p.suggest("save the file as UTF-8", nil)
			}
			p.pos += size
		}
	}
	p.problem(Syntax, open, "unterminated string")
	p.suggest("add the closing quote", nil)
	return "", false
}

// plain skips the characters of a string that need no care, which most do not.
func (p *parser) plain() {
	text, i := p.Text, p.pos
	for i < len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
		i++
	}
	p.pos = i
}

func (p *parser) controlCharacter(c byte) {
	switch c {
	case '\n', '\r':
		p.problem(Syntax, p.pos, "unescaped line break in a string")
		p.suggest(`write \n, or close the string`, nil)
	case '\t':
		p.problem(Syntax, p.pos, "unescaped tab in a string")
		p.suggest(`write \t`, nil)
	default:
		p.problem(Syntax, p.pos, "unescaped control character U+%04X in a string", c)
		p.suggest(fmt.Sprintf(`write \u%04x`, c), nil)
	}
}

// escape reads an escape sequence. It reports an unpaired surrogate and reads it as
// U+FFFD.
func (p *parser) escape(to *strings.Builder, reported *bool) bool {
	const letters, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	start := p.pos
	p.pos++
	c := p.peek()
	if i := strings.IndexByte(letters, c); i >= 0 {
		p.pos++
		to.WriteByte(meaning[i])
		return true
	}
	if c != 'u' {
		p.problem(Syntax, start, "invalid escape sequence")
		p.suggest(`write \\ for a backslash`, nil)
		return false
	}
	r, ok := p.codeUnit(start)
	if !ok {
		p.problem(Syntax, start, `\u must be followed by four hexadecimal digits`)
		return false
	}
	p.pos = start + len(`\uXXXX`)
	if utf16.IsSurrogate(r) {
		second, _ := p.codeUnit(p.pos)
		if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
			p.pos += len(`\uXXXX`)
			r = pair
		} else if r = utf8.RuneError; !*reported {
			*reported = true
			p.problem(Surrogate, start, `\u%s is half of a surrogate pair: the other half is missing`, strings.ToLower(p.Text[start+2:start+6]))
			p.suggest("write the character itself, or both halves", nil)
		}
	}
	to.WriteRune(r)
	return true
}

// codeUnit decodes the \uXXXX at an offset.
func (p *parser) codeUnit(at int) (rune, bool) {
	if len(p.Text) < at+6 || p.Text[at:at+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(p.Text[at+2:at+6], 16, 16)
	return rune(n), err == nil
}

// unexpected reports what stands here instead of what is expected. It shows one
// character at most, because a secret may begin here.
func (p *parser) unexpected(want string) {
	if p.pos >= len(p.Text) {
		p.problem(Syntax, p.pos, "unexpected end of the document: expected %s", want)
		return
	}
	c, size := utf8.DecodeRuneInString(p.Text[p.pos:])
	if c == utf8.RuneError && size == 1 {
		p.problem(Syntax, p.pos, "unexpected byte 0x%02X: expected %s", p.Text[p.pos], want)
		return
	}
	p.problem(Syntax, p.pos, "unexpected %q: expected %s", c, want)
	for _, known := range [...]struct{ prefix, suggestion string }{
		{"//", "JSON has no comments: remove it"},
		{"/*", "JSON has no comments: remove it"},
		{"#", "JSON has no comments: remove it"},
		{"'", `write strings and keys in double quotes: "..."`},
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
		if strings.HasPrefix(p.Text[p.pos:], known.prefix) {
			p.suggest(known.suggestion, nil)
			return
		}
	}
}
