package manifest

import (
	"strconv"
	"unicode/utf8"
)

// maxShown is how many code points of a document's own text a message repeats.
const maxShown = 60

// show quotes text of a document for a message, on one line and cut to a length.
func show(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return strconv.Quote(s[:i]) + "..."
		}
	}
	return strconv.Quote(s)
}

// count is the length of a text as the specification counts: in code points.
func count(s string) int { return utf8.RuneCountInString(s) }

// oneLine is a pointer as it is, unless its keys would spoil a line.
func oneLine(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}
