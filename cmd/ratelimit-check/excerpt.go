package main

import (
	"strings"
	"unicode/utf8"

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

// split returns the lines, counted as YAML does.
func (f *source) split() []string {
	if f.lines != nil {
		return f.lines
	}
	rest := strings.TrimPrefix(f.data.String(), "\ufeff")
	for {
		end, size := lineBreak(rest)
		f.lines = append(f.lines, rest[:end])
		if size == 0 {
			return f.lines
		}
		rest = rest[end+size:]
	}
}

// lineBreak returns the position and length of the first line break; the end of the text
// and 0 if there is none.
func lineBreak(text string) (at, size int) {
	at = strings.IndexAny(text, "\r\n\u0085\u2028\u2029")
	if at < 0 {
		return len(text), 0
	}
	if strings.HasPrefix(text[at:], "\r\n") {
		return at, 2
	}
	_, size = utf8.DecodeRuneInString(text[at:])
	return at, size
}
