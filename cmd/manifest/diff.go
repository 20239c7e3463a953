package main

import (
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// contextLines is the number of equal lines that a diff shows around a change.
const contextLines = 3

// maxCells limits the table that lines are compared with. Beyond it a diff shows everything
// from the first difference to the last as replaced.
const maxCells = 4 << 20

// diff returns the unified diff of two texts, or "" if they are equal.
func diff(name, before, after string) string {
	if before == after {
		return ""
	}
	script := compare(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for start := 0; start < len(script); {
		if script[start].op == ' ' {
			start++
			continue
		}
		end := start // of the hunk, which includes few equal lines between changes
		for i, equal := start, 0; i < len(script) && equal <= 2*contextLines; i++ {
			if script[i].op == ' ' {
				equal++
			} else {
				equal, end = 0, i+1
			}
		}
		writeHunk(&b, script, max(0, start-contextLines), min(len(script), end+contextLines))
		start = end
	}
	return b.String()
}

// change is a line that is equal (' '), removed ('-') or added ('+').
type change struct {
	op   byte
	text string
}

func writeHunk(b *strings.Builder, script []change, start, end int) {
	count := func(part []change, op byte) (n int) {
		for _, c := range part {
			if c.op == ' ' || c.op == op {
				n++
			}
		}
		return n
	}
	hunk := script[start:end]
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", count(script[:start], '-')+1, count(hunk, '-'), count(script[:start], '+')+1, count(hunk, '+'))
	for _, c := range hunk {
		fmt.Fprintf(b, "%c%s\n", c.op, cli.Printable(c.text))
	}
}

// lines splits a text, and marks a last line without a line break.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	if rest, ok := strings.CutSuffix(text, "\n"); ok {
		return strings.Split(rest, "\n")
	}
	return strings.Split(text+" (no line break at the end)", "\n")
}

// compare returns the changes from a to b, with the longest common subsequence between the
// equal lines at both ends.
func compare(a, b []string) []change {
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	script := appendLines(nil, ' ', a[:head])
	script = appendChanges(script, a[head:len(a)-tail], b[head:len(b)-tail])
	return appendLines(script, ' ', a[len(a)-tail:])
}

func appendLines(script []change, op byte, lines []string) []change {
	for _, l := range lines {
		script = append(script, change{op, l})
	}
	return script
}

func appendChanges(script []change, a, b []string) []change {
	i, j := 0, 0
	if (len(a)+1)*(len(b)+1) <= maxCells {
		width := len(b) + 1
		common := make([]int32, (len(a)+1)*width) // how many lines a[i:] and b[j:] have in common
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				at := i*width + j
				if common[at] = max(common[at+1], common[at+width]); a[i] == b[j] {
					common[at] = common[at+width+1] + 1
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch at := i*width + j; {
			case a[i] == b[j]:
				script = append(script, change{' ', a[i]})
				i, j = i+1, j+1
			case common[at+width] >= common[at+1]:
				script = append(script, change{'-', a[i]})
				i++
			default:
				script = append(script, change{'+', b[j]})
				j++
			}
		}
	}
	return appendLines(appendLines(script, '-', a[i:]), '+', b[j:])
}
