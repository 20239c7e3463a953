// Package printable makes strings from clients safe to repeat in messages and logs.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// String returns s with a question mark in place of each character that is not printable
// and each byte that is not UTF-8.
func String(s string) string {
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}

// Truncate returns [String] of at most the first n bytes of s, without the part of a
// character, followed by "..." if that is not all of s.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return String(s)
	}
	return String(Cut(s, n)) + "..."
}

// Prefix returns [String] of the first n characters of s.
func Prefix(s string, n int) string {
	runes := []rune(String(Cut(s, utf8.UTFMax*n)))
	return string(runes[:min(n, len(runes))])
}

// Cut returns at most the first n bytes of s, and no part of a character at their end.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i >= max(n-utf8.UTFMax+1, 0); i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // not UTF-8
}

// Join returns the texts of the elements of a list, with sep between them.
func Join[T any](list []T, sep string, text func(T) string) string {
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = text(element)
	}
	return strings.Join(texts, sep)
}
