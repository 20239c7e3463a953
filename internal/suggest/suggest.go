// Package suggest finds the known word that a misspelled one was probably meant
// to be, for "did you mean" hints in error messages.
package suggest

import "strings"

// maxLength bounds the work: longer words get no suggestion.
const maxLength = 100

// Closest returns the known word with the fewest edits from word, the first one
// if several are equally close. It returns "" if all of them need more than
// maxEdits, and if word is longer than 100 bytes. Letter case and separators
// (underscore, hyphen, dot, slash, plus sign, space) do not count as edits.
func Closest(word string, known []string, maxEdits int) string {
	if len(word) > maxLength {
		return ""
	}
	folded, best := fold(word), ""
	for _, k := range known {
		f := fold(k)
		if max(len(f)-len(folded), len(folded)-len(f)) > 4*maxEdits { // 4 is the longest rune
			continue
		}
		if n := Distance(folded, f); n <= maxEdits {
			best, maxEdits = k, n-1
		}
	}
	return best
}

// Distance returns how many runes to insert, delete, replace or swap with their
// neighbor turn a into b (optimal string alignment). Time grows with the product
// of the lengths.
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	older, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(from); i++ {
		older, last, row = last, row, older
		row[0] = i
		for j := 1; j <= len(to); j++ {
			replace := last[j-1]
			if from[i-1] != to[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(to)]
}

// fold removes what people mix up without misspelling: case and separators.
func fold(s string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("_-./+ ", c) {
			return -1
		}
		return c
	}, strings.ToLower(s))
}
