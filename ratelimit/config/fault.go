package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Fault is one problem, or one warning, in a configuration file or in a resource
// of a discovery server.
type Fault struct {
	// File is the name of the file or resource.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters. Both are 0 for the file
	// as a whole and for resources.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path leads to the field in a resource, such as
	// "descriptors[0].rate_limit.unit". It is empty in files, and for the resource
	// as a whole.
	Path string `json:"path,omitempty"`
	// Reason states the problem and, where it is not obvious, the remedy.
	Reason string `json:"message"`
	// Cause is File.Err for a file that can't be read, else nil.
	Cause error `json:"-"`
}

// Error returns "<file>:<line>:<column>: <reason>", "<resource>: <path>: <reason>"
// or "<file>: <reason>".
func (f *Fault) Error() string { return f.position() + ": " + f.Reason }

// Unwrap returns Cause.
func (f *Fault) Unwrap() error { return f.Cause }

func (f *Fault) position() string {
	switch {
	case f.Line > 0:
		return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	case f.Path != "":
		return f.File + ": " + f.Path
	}
	return f.File
}

// Faults is the error for a configuration that can't be used: all its problems.
// Those of files are sorted by file, line, column and reason, those of resources
// by resource and rule. It is never empty.
type Faults []*Fault

// Error returns one line for each fault.
func (fs Faults) Error() string { return errors.Join(fs.Unwrap()...).Error() }

// Unwrap gives errors.As and errors.Is access to the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// maxFaults bounds the faults, and the warnings, that are reported for one file.
const maxFaults = 1000

// Translate converts the faults and warnings of [ratelimit.Compile] for a source of
// configuration. position returns a fault with the position of a field of a rule; field is
// "" for the rule as a whole. Translate adds the reason; a nil fault is skipped.
func Translate(found []*ratelimit.Fault, position func(at ratelimit.Position, field string) *Fault) []*Fault {
	var out []*Fault
	for _, f := range found {
		t := position(ratelimit.Position{Source: f.Source, Path: f.Path}, f.Field)
		if t == nil {
			continue
		}
		reason := f.Reason
		if f.Other != nil {
			if other := position(*f.Other, f.Field); other != nil {
				reason += " (the other is at " + other.position() + ")"
			}
		}
		t.File, t.Reason = oneLine(t.File), oneLine(reason)
		out = append(out, t)
	}
	return out
}

// oneLine makes text of a file fit for a fault.
func oneLine(s string) string { return printable.Truncate(s, 1000) }

// sortFaults sorts faults by position and drops repetitions, which aliases cause.
func sortFaults(fs []*Fault) []*Fault {
	compare := func(a, b *Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), strings.Compare(a.Reason, b.Reason))
	}
	slices.SortStableFunc(fs, compare)
	return slices.CompactFunc(fs, func(a, b *Fault) bool { return compare(a, b) == 0 })
}
