package httpapi

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendText writes a JSON string. What needs no escaping, which is nearly everything, is
// copied at once. U+2028 and U+2029 are escaped, as encoding/json does, because JavaScript
// once took them for ends of lines.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		char, size := utf8.DecodeRuneInString(s[i:])
		if escape := escapeOf(char, size); escape != "" {
			b = append(b, s[start:i]...)
			b = append(b, escape...)
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendEscaped writes one of the characters of ASCII that can't stand for themselves.
func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// escapeOf is what stands for a character beyond ASCII, "" for itself.
func escapeOf(char rune, size int) string {
	switch {
	case char == utf8.RuneError && size == 1:
		return `\ufffd`
	case char == '\u2028':
		return `\u2028`
	case char == '\u2029':
		return `\u2029`
	}
	return ""
}
