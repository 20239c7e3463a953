package jsonpos

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// Position returns the line and column of a byte offset in text. Both count from 1,
// columns in code points; a byte that is not UTF-8 counts as one. A line ends with LF,
// CR LF or CR. An offset beyond the end means the end.
func Position(text string, offset int) (line, column int) {
	c := NewCursor(text)
	c.MoveTo(offset)
	return c.Line, c.Column
}

// cursor finds the lines and columns of many offsets in ascending order with one pass
// over a text.
type cursor struct {
	Line, Column int // as in [Position]

	text   string
	offset int
}

// NewCursor returns a cursor at the beginning of text.
func NewCursor(text string) *cursor { return &cursor{Line: 1, Column: 1, text: text} }

// MoveTo moves forward to an offset. A smaller offset than the current one has no effect.
func (c *cursor) MoveTo(offset int) {
	for end := min(offset, len(c.text)); c.offset < end; {
		plain := c.offset
		for plain < end && ' ' <= c.text[plain] && c.text[plain] < utf8.RuneSelf {
			plain++
		}
		if c.Column, c.offset = c.Column+plain-c.offset, plain; plain == end {
			return
		}
		size := 1
		switch b := c.text[c.offset]; {
		case b == '\n', b == '\r' && !strings.HasPrefix(c.text[c.offset+1:], "\n"):
			c.Line, c.Column = c.Line+1, 0
		case b >= utf8.RuneSelf:
			_, size = utf8.DecodeRuneInString(c.text[c.offset:])
		}
		c.offset += size
		c.Column++
	}
}

// Path is the way from the root of a document to a value.
type Path []step

// step goes down by a key, or by an index if Indexed.
type step struct {
	Key     string
	Index   int
	Indexed bool
}

// Key appends a member's key.
func (p *Path) Key(key string) { *p = append(*p, step{Key: key}) }

// Index appends an element's index.
func (p *Path) Index(i int) { *p = append(*p, step{Index: i, Indexed: true}) }

// Pop removes the last step.
func (p *Path) Pop() { *p = (*p)[:len(*p)-1] }

// maxPointer bounds the bytes of a pointer, because its keys come from the document.
const maxPointer = 2000

// Pointer returns the path as a JSON pointer (RFC 6901). It ends with "..." if it had
// more than 2,000 bytes.
func (p Path) Pointer() string {
	var b strings.Builder
	for _, s := range p {
		if b.WriteByte('/'); b.Len() > maxPointer {
			break
		}
		if s.Indexed {
			b.WriteString(strconv.Itoa(s.Index))
		} else {
			b.WriteString(EscapeToken(printable.Cut(s.Key, maxPointer+utf8.UTFMax)))
		}
	}
	if b.Len() <= maxPointer {
		return b.String()
	}
	return printable.Cut(b.String(), maxPointer) + "..."
}

// EscapeToken returns a key as a token of a JSON pointer.
func EscapeToken(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// Quote quotes text of a document for a message: on one line and cut after 60 code points.
func Quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > 60 {
			return strconv.Quote(s[:i]) + "..."
		}
	}
	return strconv.Quote(s)
}

// OneLine returns s in quotes if it has characters that would break a line or have no
// glyph, as the keys in a pointer may, else unchanged.
func OneLine(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}
