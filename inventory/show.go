package inventory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is how many bytes of what a client sent a message repeats.
const maxShown = 64

// show makes what a client sent fit to be part of a message.
func show(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return printable(s)
}

// printable has a question mark for each character that can't be seen.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}
