package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// cursor finds lines and columns while it moves forward through a text, so that
// all problems of a document together cost one pass over it.
type cursor struct {
	text         string
	offset       int
	line, column int
}

func newCursor(text string) *cursor { return &cursor{text: text, line: 1, column: 1} }

// moveTo goes to an offset that is not before the present one. A byte that is not
// UTF-8 counts as one code point.
func (c *cursor) moveTo(offset int) {
	for c.offset < min(offset, len(c.text)) {
		switch b := c.text[c.offset]; {
		case b == '\n', b == '\r' && !strings.HasPrefix(c.text[c.offset+1:], "\n"):
			c.offset++
			c.line, c.column = c.line+1, 1
		case b < utf8.RuneSelf:
			c.offset++
			c.column++
		default:
			_, size := utf8.DecodeRuneInString(c.text[c.offset:])
			c.offset += size
			c.column++
		}
	}
}

// locate sets lines and columns of problems, which are sorted by offset.
func locate(text string, ps Problems) {
	c := newCursor(text)
	for i := range ps {
		c.moveTo(ps[i].Offset)
		ps[i].Line, ps[i].Column = c.line, c.column
	}
}

// trail is the way from the root to the value at hand.
type trail []step

// step goes down by a key, or by an index if the key is not used.
type step struct {
	key     string
	index   int
	indexed bool
}

func (t *trail) key(key string) { *t = append(*t, step{key: key}) }

func (t *trail) index(i int) { *t = append(*t, step{index: i, indexed: true}) }

func (t *trail) pop() { *t = (*t)[:len(*t)-1] }

// maxPointer bounds a pointer, whose keys come from the document.
const maxPointer = 2000

// pointer writes the trail as RFC 6901 has it, cut after maxPointer bytes.
func (t trail) pointer() string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, s := range t {
		if b.WriteByte('/'); b.Len() > maxPointer {
			break
		}
		if s.indexed {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			_, _ = escape.WriteString(&b, s.key[:min(len(s.key), maxPointer)])
		}
	}
	if b.Len() <= maxPointer {
		return b.String()
	}
	return strings.ToValidUTF8(b.String()[:maxPointer], "") + "..."
}

// inWords is the trail as a person reads it, packages[0].transport, without its
// beginning if it is long.
func (t trail) inWords() string {
	var b strings.Builder
	for i, s := range t[max(0, len(t)-maxWords):] {
		switch {
		case s.indexed:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !only(s.key, "_$"):
			b.WriteString("[" + show(s.key) + "]")
		case i > 0:
			b.WriteString("." + s.key[:min(len(s.key), maxKey)])
		default:
			b.WriteString(s.key[:min(len(s.key), maxKey)])
		}
	}
	return b.String()
}

// maxWords is more steps than any known value is away from the root.
const maxWords = 12
