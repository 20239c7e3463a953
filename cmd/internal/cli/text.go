package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes text that others wrote fit for a terminal: one column for each
// character, and nothing that steers.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case c == utf8.RuneError || !unicode.IsPrint(c):
			return '?'
		}
		return c
	}, s)
}

// Count is a number of things: "1 error", "2 errors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// How many characters of a line an excerpt shows at the most, and how many of them
// stand before its mark.
const (
	maxExcerpt = 100
	maxBefore  = maxExcerpt * 2 / 3
)

// Excerpt shows a place in a file: the line with its number and, below it, where the
// mark begins that belongs under the place; and the mark, width characters wide, but
// at least one and no more than are shown. Apart, so that the mark may have a colour.
//
// The line is given as what stands before the place and what follows; both are made
// [Printable]. Of a long line the part around the place is shown. What is given beyond
// 100 characters on either side makes no difference.
func Excerpt(number int, before, after string, width int) (shown, mark string) {
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
