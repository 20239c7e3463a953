package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
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
			fmt.Fprintf(&b, "%s: %s not listed; -max-problems lists more\n", r.name(), cli.Count(n, "more problem"))
		}
	}
	fmt.Fprintf(&b, "%s: %s, %s\n", cli.Count(len(results), "manifest"), cli.Count(nErrors, "error"), cli.Count(nWarnings, "warning"))
	_, err := w.Write(b.Bytes())
	return err
}

func writeProblem(b *bytes.Buffer, s *source, problem *manifest.Problem, p paint) {
	color := "31"
	if problem.Severity != manifest.Error {
		color = "33"
	}
	place := fmt.Sprintf("%s:%d:%d:", s.name(), problem.Line, problem.Column)
	fmt.Fprintf(b, "%s %s: %s [%s]\n", p.in("1", place), p.in(color, string(problem.Severity)), cli.Printable(problem.Message), problem.Rule)
	before, mark := excerpt(s.data, problem.Line, problem.Offset, problem.End)
	if before != "" {
		fmt.Fprintf(b, "%s%s\n", before, p.in(color, mark))
	}
	if problem.Suggestion != "" {
		fmt.Fprintf(b, "      %s %s\n", p.in("36", "="), cli.Printable(problem.Suggestion))
	}
}

// maxLine is how many bytes of a line are looked at on either side of a place: more
// than are shown of it, as manifests may be a single line.
const maxLine = 1 << 10

// excerpt is a line with its number and, on the line below, the mark that belongs
// under what is at fault. Both are empty if the text is not to be shown.
func excerpt(data []byte, line, offset, end int) (shown, mark string) {
	if offset > len(data) || len(data) == 0 {
		return "", ""
	}
	before, after := data[:offset], data[offset:]
	before = before[max(0, len(before)-maxLine):]
	before = before[bytes.LastIndexAny(before, "\r\n")+1:]
	after = after[:min(len(after), maxLine)]
	if i := bytes.IndexAny(after, "\r\n"); i >= 0 {
		after = after[:i]
	}
	width := utf8.RuneCount(data[offset:min(max(end, offset+1), len(data))])
	return cli.Excerpt(line, string(before), string(after), width)
}
