package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/manifest"
)

// writeText is for people: file:line:column, the line, and a mark below it.
func writeText(w io.Writer, results []checked, p paint) error {
	var b bytes.Buffer
	nErrors, nWarnings := 0, 0
	for i := range results {
		r := &results[i]
		nErrors, nWarnings = nErrors+r.report.Errors, nWarnings+r.report.Warnings
		shown := source{path: r.path, data: masked(r.data)}
		for j := range r.report.Problems {
			writeProblem(&b, &shown, &r.report.Problems[j], p)
		}
		if n := r.report.Omitted(); n > 0 {
			fmt.Fprintf(&b, "%s: %s not listed; -max-problems lists more\n", r.name(), count(n, "more problem"))
		}
	}
	fmt.Fprintf(&b, "%s: %s, %s\n", count(len(results), "manifest"), count(nErrors, "error"), count(nWarnings, "warning"))
	_, err := w.Write(b.Bytes())
	return err
}

func writeProblem(b *bytes.Buffer, s *source, problem *manifest.Problem, p paint) {
	color := "31"
	if problem.Severity != manifest.Error {
		color = "33"
	}
	place := fmt.Sprintf("%s:%d:%d:", s.name(), problem.Line, problem.Column)
	fmt.Fprintf(b, "%s %s: %s [%s]\n", p.in("1", place), p.in(color, string(problem.Severity)), printable(problem.Message), problem.Rule)
	before, mark := excerpt(s.data, problem.Line, problem.Column, problem.Offset, problem.End)
	if before != "" {
		fmt.Fprintf(b, "%s%s\n", before, p.in(color, mark))
	}
	if problem.Suggestion != "" {
		fmt.Fprintf(b, "      %s %s\n", p.in("36", "="), printable(problem.Suggestion))
	}
}

// maxExcerpt is how many characters of a line are shown.
const maxExcerpt = 100

// excerpt is a line with its number and, on the line below, the mark that belongs
// under what is at fault. Both are empty if the text is not to be shown.
func excerpt(data []byte, line, column, offset, end int) (shown, mark string) {
	if offset > len(data) || len(data) == 0 {
		return "", ""
	}
	start := offset
	for start > 0 && data[start-1] != '\n' && data[start-1] != '\r' && offset-start < 4*maxExcerpt {
		start--
	}
	for start < offset && !utf8.RuneStart(data[start]) {
		start++
	}
	rest := data[offset:]
	if i := bytes.IndexAny(rest, "\r\n"); i >= 0 {
		rest = rest[:i]
	}
	before := []rune(printable(string(data[start:offset])))
	after := []rune(printable(string(rest[:min(len(rest), 4*maxExcerpt)])))
	lead := ""
	if cut := len(before) - maxExcerpt*2/3; cut > 0 || len(before) < column-1 {
		before, lead = before[max(cut, 0):], "..."
	}
	tail := ""
	if room := maxExcerpt - len(before); len(after) > room {
		after, tail = after[:room], "..."
	}
	width := utf8.RuneCount(data[offset:min(max(end, offset+1), len(data))])
	width = max(1, min(width, len(after)))
	margin := fmt.Sprintf("%5d | ", line)
	shown = margin + lead + string(before) + string(after) + tail + "\n" +
		strings.Repeat(" ", len(margin)-2) + "| " + strings.Repeat(" ", len(lead)+len(before))
	return shown, strings.Repeat("^", width)
}

// printable makes text fit for a terminal: one column for each character, and nothing
// that steers.
func printable(s string) string {
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

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
