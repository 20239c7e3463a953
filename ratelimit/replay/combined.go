package replay

import (
	"errors"
	"strconv"
	"strings"
)

// combinedFields are the fields of the combined log format, in the order of a line. The last two
// are missing in the common log format.
var combinedFields = [...]string{
	"remote_address", "ident", "user", "time", "method", "target", "protocol", "status", "bytes", "referer", "user_agent",
}

// combinedLine reads lines such as
//
//	192.0.2.1 - ann [02/Jan/2026:03:04:05 +0000] "GET /a?b HTTP/1.1" 200 12 "https://example.com/" "curl/8"
//
// More fields after these are ignored. A dash is an empty field.
type combinedLine struct {
	slots [len(combinedFields)][]int // slots for each field
	rest  string
}

var errNotCombined = errors.New("not in the combined log format")

func (c *combinedLine) read(line string, values []string) error {
	c.rest = strings.TrimSpace(line)
	for i := range 3 {
		c.set(i, c.word(), values)
	}
	end := strings.IndexByte(c.rest, ']')
	if end < 0 || c.rest[0] != '[' {
		return errNotCombined
	}
	c.set(3, c.rest[1:end], values)
	c.rest = strings.TrimLeft(c.rest[end+1:], " ")
	request, ok := c.quoted()
	if !ok {
		return errNotCombined
	}
	method, target, _ := strings.Cut(request, " ")
	target, protocol, _ := strings.Cut(target, " ")
	c.set(4, method, values)
	c.set(5, target, values)
	c.set(6, protocol, values)
	status := c.word()
	if _, err := strconv.ParseUint(status, 10, 16); err != nil {
		return errNotCombined
	}
	c.set(7, status, values)
	c.set(8, c.word(), values)
	for i := 9; i < len(combinedFields) && c.rest != ""; i++ {
		text, ok := c.quoted()
		if !ok {
			break // fields of another format
		}
		c.set(i, text, values)
	}
	return nil
}

func (c *combinedLine) set(field int, text string, values []string) {
	if text == "-" {
		return
	}
	for _, slot := range c.slots[field] {
		values[slot] = text
	}
}

// word returns the text up to the next space.
func (c *combinedLine) word() string {
	word, rest, _ := strings.Cut(c.rest, " ")
	c.rest = strings.TrimLeft(rest, " ")
	return word
}

// quoted returns the next text in quotes, without the escapes that servers write.
func (c *combinedLine) quoted() (string, bool) {
	if c.rest == "" || c.rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(c.rest); i++ {
		switch c.rest[i] {
		case '\\':
			i++
		case '"':
			text := c.rest[1:i]
			c.rest = strings.TrimLeft(c.rest[i+1:], " ")
			if strings.IndexByte(text, '\\') >= 0 {
				text = unescape(text)
			}
			return text, true
		}
	}
	return "", false
}

// unescape replaces \xhh, \" and \\ .
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] == 'x' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
