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
// More fields after these are ignored. A dash is an empty field. The values are those of combinedFields.
type combinedLine []int

var errNotCombined = errors.New("not in the combined log format")

func (c combinedLine) read(line []byte, values []string) error {
	var found [len(combinedFields)]string
	s := combinedScanner{strings.TrimSpace(string(line))}
	found[0], found[1], found[2] = s.word(), s.word(), s.word()
	end := strings.IndexByte(s.rest, ']')
	if end < 0 || s.rest[0] != '[' {
		return errNotCombined
	}
	found[3] = s.rest[1:end]
	s.skip(end + 1)
	request, ok := s.quoted()
	if !ok {
		return errNotCombined
	}
	found[4], request, _ = strings.Cut(request, " ")
	found[5], found[6], _ = strings.Cut(request, " ")
	found[7] = s.word()
	if _, err := strconv.ParseUint(found[7], 10, 16); err != nil {
		return errNotCombined
	}
	found[8] = s.word()
	for i := 9; i < len(found) && ok; i++ {
		found[i], ok = s.quoted() // false for fields of another format
	}
	for i, field := range c {
		if field >= 0 && found[field] != "-" {
			values[i] = found[field]
		}
	}
	return nil
}

// combinedScanner reads the fields of a line.
type combinedScanner struct{ rest string }

// skip removes n bytes and the spaces after them.
func (s *combinedScanner) skip(n int) { s.rest = strings.TrimLeft(s.rest[n:], " ") }

// word returns the text up to the next space.
func (s *combinedScanner) word() string {
	word, _, _ := strings.Cut(s.rest, " ")
	s.skip(len(word))
	return word
}

// quoted returns the next text in quotes, without the escapes that servers write.
func (s *combinedScanner) quoted() (string, bool) {
	if s.rest == "" || s.rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '"':
			text := s.rest[1:i]
			s.skip(i + 1)
			if strings.IndexByte(text, '\\') >= 0 {
				if plain, err := strconv.Unquote(`"` + text + `"`); err == nil {
					text = plain
				}
			}
			return text, true
		}
	}
	return "", false
}
