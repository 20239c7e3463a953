package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFaults is how many problems of one document are told.
const maxFaults = 20

// check holds a well-formed document against the shape. Encoding/json would stop at the
// first problem, know no places for most, and take the last of two equal keys.
func (s *shape) check(data []byte, maxDepth int) error {
	c := checker{data: data, maxDepth: maxDepth}
	c.value(s, "")
	if len(c.faults) == 0 {
		return nil
	}
	message := "Invalid JSON: " + c.faults[0].Field + ": " + c.faults[0].Reason
	if more := len(c.faults) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &Error{Status: http.StatusBadRequest, Message: message, Fields: c.faults}
}

// checker goes through a document that is known to be JSON.
type checker struct {
	data     []byte
	at       int // of the next byte
	depth    int
	maxDepth int
	faults   []FieldError
}

// done reports whether there is no point in going on.
func (c *checker) done() bool { return len(c.faults) >= maxFaults || c.at >= len(c.data) }

// fault notes a problem of the field that begins at the offset, if there is room for it.
func (c *checker) fault(field string, offset int, format string, args ...any) {
	if len(c.faults) == maxFaults {
		return
	}
	if field == "" {
		field = "body"
	}
	reason := fmt.Sprintf(format, args...) + " (" + placeOf(c.data, offset) + ")"
	c.faults = append(c.faults, FieldError{Field: field, Reason: reason})
}

// space skips to the next byte that counts.
func (c *checker) space() {
	for c.at < len(c.data) && bytes.IndexByte([]byte(" \t\r\n"), c.data[c.at]) >= 0 {
		c.at++
	}
}

// value checks the next value.
func (c *checker) value(s *shape, path string) {
	c.space()
	for s.pointee != nil {
		if c.data[c.at] == 'n' {
			c.token()
			return
		}
		s = s.pointee
	}
	start, before := c.at, len(c.faults)
	switch c.data[c.at] {
	case '{':
		c.composite(s, path, object, c.members)
	case '[':
		c.composite(s, path, array, c.elements)
	default:
		c.scalar(s, path, c.token())
		return
	}
	// After a fault within it, c.at need not be where it ends.
	if s.kind == custom && len(c.faults) == before {
		c.try(s, path, start, c.data[start:c.at])
	}
}

// composite checks an object or an array. One that should be something else is looked
// through as well, as there may be more to say about it.
func (c *checker) composite(s *shape, path string, is kind, inner func(*shape, string)) {
	if s.kind != is && s.kind != anything && s.kind != custom {
		c.fault(path, c.at, "must be %v, not %v", s.kind, is)
		s = &shape{kind: anything}
	}
	if c.depth++; c.depth > c.maxDepth {
		c.fault(path, c.at, "is nested too deep: at most %d levels are taken", c.maxDepth)
		c.at = len(c.data)
		return
	}
	c.at++
	inner(s, path)
	c.depth--
}

// more reports whether another member or element comes before the closing bracket,
// which it takes.
func (c *checker) more(closing byte) bool {
	c.space()
	if c.done() {
		return false
	}
	if c.data[c.at] == ',' {
		c.at++
		c.space()
	}
	if c.data[c.at] == closing {
		c.at++
		return false
	}
	return true
}

// members checks those of an object.
func (c *checker) members(s *shape, path string) {
	seen := map[string]struct{}{}
	for c.more('}') {
		start := c.at
		name := unquote(c.token())
		field := join(path, show(name))
		if _, twice := seen[name]; twice {
			c.fault(field, start, "is there twice: send it once")
		}
		seen[name] = struct{}{}
		c.space()
		c.at++ // the colon
		c.value(c.member(s, name, field, start), field)
	}
}

// member finds the shape of a member.
func (c *checker) member(s *shape, name, field string, start int) *shape {
	if s.fields == nil {
		if s.element != nil {
			return s.element
		}
		return &shape{kind: anything, nullable: true}
	}
	inner, known := s.fields[name]
	if !known {
		c.fault(field, start, "is no known field: %s", s.hint(name))
		return &shape{kind: anything, nullable: true}
	}
	return inner
}

// hint says what may have been meant.
func (s *shape) hint(name string) string {
	i := slices.IndexFunc(s.names, func(known string) bool { return strings.EqualFold(known, name) })
	if i >= 0 {
		return "did you mean " + s.names[i] + "?"
	}
	return "use " + strings.Join(s.names, ", ")
}

// elements checks those of an array.
func (c *checker) elements(s *shape, path string) {
	element := s.element
	if element == nil {
		element = &shape{kind: anything, nullable: true}
	}
	for i := 0; c.more(']'); i++ {
		c.value(element, path+"["+strconv.Itoa(i)+"]")
	}
}

// token cuts off a string, a number or a name.
func (c *checker) token() []byte {
	start := c.at
	if c.data[c.at] != '"' {
		for c.at < len(c.data) && bytes.IndexByte([]byte(",:]} \t\r\n"), c.data[c.at]) < 0 {
			c.at++
		}
		return c.data[start:c.at]
	}
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	return c.data[start:c.at]
}

// scalar checks a value that has no parts.
func (c *checker) scalar(s *shape, path string, token []byte) {
	start := c.at - len(token)
	is := kindOf(token)
	switch {
	case token[0] == 'n':
		if !s.nullable && s.kind != anything {
			c.fault(path, start, "must be %v, not null", s.kind)
		}
	case s.kind == anything:
	case s.kind == custom:
		c.try(s, path, start, token)
	case s.kind == integer && is == number, s.kind == number && is == number:
		c.fits(s, path, start, token)
	case s.kind != is:
		c.fault(path, start, "must be %v, not %v", s.kind, is)
	}
}

// kindOf tells a token's kind from its first byte.
func kindOf(token []byte) kind {
	switch token[0] {
	case '"':
		return text
	case 't', 'f':
		return boolean
	}
	return number
}

// fits checks that a number is one that the Go type can hold.
func (c *checker) fits(s *shape, path string, start int, token []byte) {
	if json.Unmarshal(token, reflect.New(s.goType).Interface()) == nil {
		return
	}
	if s.kind == integer && bytes.ContainsAny(token, ".eE") {
		c.fault(path, start, "must be an integer, not %s", show(string(token)))
		return
	}
	c.fault(path, start, "is out of range: %s", show(string(token)))
}

// try lets a type decode its value, to find out here what it has against it.
func (c *checker) try(s *shape, path string, start int, value []byte) {
	err := json.Unmarshal(value, reflect.New(s.goType).Interface())
	if err == nil {
		return
	}
	if s.goType == reflect.TypeFor[time.Time]() {
		c.fault(path, start, "must be a timestamp such as 2026-01-31T12:00:00Z")
		return
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	c.fault(path, start, "can't be read: %s", show(reason))
}

// unquote is the text of a JSON string.
func unquote(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var s string
	_ = json.Unmarshal(token, &s) // it is known to be JSON
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
