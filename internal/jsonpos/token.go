package jsonpos

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// literal reads true, false or null.
func (p *parser) literal(n *Node) {
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.Text[p.pos:], word) {
			n.Text = word
			if word != "null" {
				n.Kind = Boolean
			}
			p.pos += len(word)
			return
		}
	}
	p.unexpected("a value")
}

// number reads a number (RFC 8259, section 6) and keeps its literal, because no type of
// Go holds every number.
func (p *parser) number(n *Node) {
	if p.peek() == '-' {
		p.pos++
	}
	first := p.pos
	p.digits("a digit")
	if p.Text[first] == '0' && p.pos > first+1 {
		p.fail(n.Start, "remove the zero, or write a string", "a number has a leading zero")
	}
	if p.peek() == '.' {
		p.pos++
		p.digits("a digit after the decimal point")
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		p.digits("a digit of the exponent")
	}
	n.Text = p.Text[n.Start:p.pos]
}

func (p *parser) digits(want string) {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	if p.pos == start {
		p.unexpected(want)
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// string reads a string. One without escapes shares the memory of the text.
func (p *parser) string() string {
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
			return s
		case c == '\\':
			decoded.WriteString(p.Text[start:p.pos])
			p.escape(&decoded, &reported)
			start = p.pos
		case c < ' ':
			p.controlCharacter(c)
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
	p.fail(open, "add the closing quote", "unterminated string")
	return ""
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
		p.fail(p.pos, `write \n, or close the string`, "unescaped line break in a string")
	case '\t':
		p.fail(p.pos, `write \t`, "unescaped tab in a string")
	default:
		p.fail(p.pos, fmt.Sprintf(`write \u%04x`, c), "unescaped control character U+%04X in a string", c)
	}
}

// escape reads an escape sequence. It reports an unpaired surrogate and reads it as
// U+FFFD.
func (p *parser) escape(to *strings.Builder, reported *bool) {
	const letters, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	start := p.pos
	p.pos++
	c := p.peek()
	if i := strings.IndexByte(letters, c); i >= 0 {
		p.pos++
		to.WriteByte(meaning[i])
		return
	}
	if c != 'u' {
		p.fail(start, `write \\ for a backslash`, "invalid escape sequence")
	}
	r, ok := p.codeUnit(start)
	if !ok {
		p.fail(start, "", `\u must be followed by four hexadecimal digits`)
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
}

// codeUnit decodes the \uXXXX at an offset.
func (p *parser) codeUnit(at int) (rune, bool) {
	if len(p.Text) < at+6 || p.Text[at:at+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(p.Text[at+2:at+6], 16, 16)
	return rune(n), err == nil
}

// unexpected reports what stands here instead of what is expected, and ends the reading. It
// shows one character at most, because a secret may begin here.
func (p *parser) unexpected(want string) {
	if p.pos >= len(p.Text) {
		p.fail(p.pos, "", "unexpected end of the document: expected %s", want)
	}
	c, size := utf8.DecodeRuneInString(p.Text[p.pos:])
	if c == utf8.RuneError && size == 1 {
		p.fail(p.pos, "", "unexpected byte 0x%02X: expected %s", p.Text[p.pos], want)
	}
	suggestion := ""
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
			suggestion = known.suggestion
			break
		}
	}
	p.fail(p.pos, suggestion, "unexpected %q: expected %s", c, want)
}
