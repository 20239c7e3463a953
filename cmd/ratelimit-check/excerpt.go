package main

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// maxLine is the length of the longest line, in bytes, that is searched for a column.
const maxLine = 64 << 10

// excerpt returns a line of a file and, below it, a caret at a column; empty if there is
// no such line. Both count from 1, columns in characters.
func excerpt(lines []string, line, column int) string {
	if line < 1 || line > len(lines) || len(lines[line-1]) > maxLine {
		return ""
	}
	text := []rune(lines[line-1])
	at := min(max(column-1, 0), len(text)) // after the end for what is missing there
	shown, caret := cli.Excerpt(line, string(text[:at]), string(text[at:]), 1)
	return shown + caret + "\n"
}

// breaks makes all line breaks of YAML the same.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// sourceLines returns a function that returns the lines of a file, counted as YAML does.
func sourceLines(files []config.File) func(path string) []string {
	split := map[string][]string{}
	return func(path string) []string {
		i := slices.IndexFunc(files, func(f config.File) bool { return f.Path == path })
		if split[path] == nil && i >= 0 { // else it is a directory
			split[path] = strings.Split(breaks.Replace(strings.TrimPrefix(string(files[i].Data), "\ufeff")), "\n")
		}
		return split[path]
	}
}
