package main

import (
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// maxLine is the length of the longest line, in bytes, that is searched for a column.
const maxLine = 64 << 10

// excerpt is a line of the file and, below it, a caret at a column; empty if there is
// no such line. Both count from 1, columns in characters.
func (f *source) excerpt(line, column int) string {
	lines := f.split()
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

// split returns the lines, counted as YAML does.
func (f *source) split() []string {
	if f.lines == nil {
		f.lines = strings.Split(breaks.Replace(strings.TrimPrefix(f.data.String(), "\ufeff")), "\n")
	}
	return f.lines
}
