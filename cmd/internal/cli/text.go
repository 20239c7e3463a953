package cli

import (
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// Printable makes a string safe for a terminal: one column for each character and no control
// characters.
func Printable(s string) string {
	return printable.String(strings.ReplaceAll(s, "\t", " "))
}

// Count returns a number with a noun: "1 error", "2 errors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// The maximum number of characters of an excerpt, in total and before its marker.
const (
	maxExcerpt = 100
	maxBefore  = maxExcerpt * 2 / 3
)

// Excerpt returns a line of a file with its number and the indentation of the marker below it, and the
// marker, which is width characters wide if that many are shown. The marker is separate so that the
// caller can colour it.
//
// before and after are the parts of the line around the position; both are made [Printable]. Of a
// long line, 100 characters around the position are shown.
func Excerpt(number int, before, after string, width int) (shown, marker string) {
	left, right := []rune(Printable(before)), []rune(Printable(after))
	lead, tail := "", ""
	if cut := len(left) - maxBefore; cut > 0 {
		left, lead = left[cut:], "..."
	}
	if room := maxExcerpt - len(left); len(right) > room {
		right, tail = right[:room], "..."
	}
	margin := fmt.Sprintf("%5d | ", number)
	below := strings.Repeat(" ", len(margin)-2) + "| " + strings.Repeat(" ", len(lead)+len(left))
	shown = margin + lead + string(left) + string(right) + tail + "\n" + below
	return shown, strings.Repeat("^", max(1, min(width, len(right))))
}
