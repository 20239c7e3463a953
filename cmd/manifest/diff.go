package main

import (
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// around is how many equal lines a diff shows around a change.
const around = 3

// maxCells bounds the table that lines are compared with: beyond it a diff shows all
// that is between the first difference and the last as replaced.
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
		end := start // of the hunk: equal lines between changes belong to it if they are few
		for i, equal := start, 0; i < len(script) && equal <= 2*around; i++ {
			if script[i].op == ' ' {
				equal++
			} else {
				equal, end = 0, i+1
			}
		}
		hunk(&b, script, max(0, start-around), min(len(script), end+around))
		start = end
	}
	return b.String()
}

// change is a line that is equal (' '), removed ('-') or added ('+').
type change struct {
	op   byte
	text string
}

func hunk(b *strings.Builder, script []change, start, end int) {
	count := func(part []change, op byte) (n int) {
		for _, c := range part {
			if c.op == ' ' || c.op == op {
				n++
			}
		}
		return n
	}
	was, is := count(script[:start], '-'), count(script[:start], '+')
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", was+1, count(script[start:end], '-'), is+1, count(script[start:end], '+'))
	for _, c := range script[start:end] {
		fmt.Fprintf(b, "%c%s\n", c.op, cli.Printable(c.text))
	}
}

// lines of a text. One that does not end in a line break says so.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	if last := len(all) - 1; all[last] == "" {
		return all[:last]
	}
	all[len(all)-1] += " (no line break at the end)"
	return all
}

// compare finds the longest common lines between what is equal at both ends.
func compare(a, b []string) []change {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var script []change
	for _, l := range a[:head] {
		script = append(script, change{' ', l})
	}
	script = append(script, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		script = append(script, change{' ', l})
	}
	return script
}

func middle(a, b []string) []change {
	if (len(a)+1)*(len(b)+1) > maxCells {
		return replaced(a, b)
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // lines in common of what follows
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			at := i*width + j
			if common[at] = max(common[at+1], common[at+width]); a[i] == b[j] {
				common[at] = common[at+width+1] + 1
			}
		}
	}
	var script []change
	i, j := 0, 0
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
	return append(script, replaced(a[i:], b[j:])...)
}

func replaced(a, b []string) []change {
	var script []change
	for _, l := range a {
		script = append(script, change{'-', l})
	}
	for _, l := range b {
		script = append(script, change{'+', l})
	}
	return script
}
