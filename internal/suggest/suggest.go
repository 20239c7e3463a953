// Package suggest finds the known word that a misspelled one was probably meant
// to be, for "did you mean" hints in error messages.
package suggest

import (
	"slices"
	"strings"
)

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

// Among returns the known word that was probably meant, with as many edits as a third of the word's
// letters, or "".
func Among(word string, known []string) string { return Closest(word, known, len(word)/3) }

// Path returns the path that was probably meant by one that is unknown, or "". The known paths begin with
// a slash; a segment in braces stands for any. Misspelled segments are replaced one by one, and a
// prefix such as /api or /v1 is left out.
func Path(sent string, known []string) string {
	if len(sent) > 2*maxLength {
		return ""
	}
	segments := strings.Split(strings.Trim(sent, "/"), "/")
	for {
		if meant := path(slices.Clone(segments), known); meant != "" && meant != sent {
			return meant
		}
		if len(segments) < 2 || !isPrefix(segments[0]) {
			return ""
		}
		segments = segments[1:]
	}
}

// isPrefix reports whether a segment is what other APIs begin their paths with.
func isPrefix(segment string) bool {
	version := strings.TrimLeft(strings.TrimPrefix(segment, "v"), "0123456789.")
	return segment == "api" || segment == "rest" || segment != "v" && strings.HasPrefix(segment, "v") && version == ""
}

// path is Path for segments of a path, which it changes.
func path(segments, known []string) string {
	var paths [][]string
	for _, p := range known {
		if parts := strings.Split(strings.Trim(p, "/"), "/"); len(parts) == len(segments) {
			paths = append(paths, parts)
		}
	}
	isAny := func(segment string) bool { return strings.HasPrefix(segment, "{") }
	for i, segment := range segments {
		var names []string
		for _, p := range paths {
			if !isAny(p[i]) {
				names = append(names, p[i])
			}
		}
		id := len(names) < len(paths) && segment != ""
		if !id && !slices.Contains(names, segment) {
			if segments[i] = Among(segment, names); segments[i] == "" {
				return ""
			}
		}
		paths = slices.DeleteFunc(paths, func(p []string) bool {
			return p[i] != segments[i] && (!id || !isAny(p[i]))
		})
	}
	return "/" + strings.Join(segments, "/")
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
