package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Fault is one problem, or warning, at one place of a file.
type Fault struct {
	File string // the name of the file
	// Line and Column count from 1, columns in characters. Both are 0 if the file
	// as a whole is meant.
	Line, Column int
	// Reason says what is wrong and, where it isn't plain, what would be right.
	Reason string
	// Cause is the error of the file system if the file could not be read, else
	// nil.
	Cause error
}

// Error is "<file>:<line>:<column>: <reason>", or "<file>: <reason>". It is one
// line.
func (f *Fault) Error() string {
	return f.place() + ": " + f.Reason
}

func (f *Fault) place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Unwrap returns Cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Faults is the error of a configuration that can't be used: everything that is
// wrong with it, sorted by file, line, column and reason. It is never empty.
type Faults []*Fault

// Error is one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As and errors.Is access to the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// tidy sorts faults and drops repetitions, which aliases make.
func tidy(fs []*Fault) []*Fault {
	slices.SortStableFunc(fs, compareFaults)
	return slices.CompactFunc(fs, func(a, b *Fault) bool { return compareFaults(a, b) == 0 })
}

func compareFaults(a, b *Fault) int {
	return cmp.Or(
		strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		strings.Compare(a.Reason, b.Reason))
}

// mark is a place in a file, counted as in Fault.
type mark struct{ line, column int }

// startOfFile is the place of what is missing from a file that holds nothing.
var startOfFile = mark{1, 1}

func markOf(n *yaml.Node) mark {
	return mark{max(n.Line, 1), max(n.Column, 1)}
}

// maxFaults is how many faults, and how many warnings, of one file are kept. A
// file with more is not the file that was meant.
const maxFaults = 1000

// report gathers what there is to say about one file.
type report struct {
	file     string
	faults   []*Fault
	warnings []*Fault
}

func (r *report) fault(at mark, format string, args ...any) {
	r.faults = r.add(r.faults, at, fmt.Sprintf(format, args...))
}

func (r *report) warn(at mark, format string, args ...any) {
	r.warnings = r.add(r.warnings, at, fmt.Sprintf(format, args...))
}

func (r *report) add(to []*Fault, at mark, reason string) []*Fault {
	switch {
	case len(to) > maxFaults:
		return to
	case len(to) == maxFaults:
		return append(to, &Fault{File: r.file, Reason: fmt.Sprintf("more than %d problems: the rest is left out", maxFaults)})
	}
	return append(to, &Fault{File: r.file, Line: at.line, Column: at.column, Reason: oneLine(reason, maxReason)})
}

// How many bytes of a file's own text a reason repeats, and how long a reason may
// be in all.
const (
	maxShown  = 100
	maxReason = 1000
)

// show makes text of a file fit to be part of a reason.
func show(s string) string { return oneLine(s, maxShown) }

// oneLine cuts s to a length and replaces what is not printable.
func oneLine(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}
