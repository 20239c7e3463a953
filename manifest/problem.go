package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Severity distinguishes errors and warnings.
type Severity string

// A document with an Error is not valid under the profile. A Warning reports a likely
// mistake in a valid document.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one fault of a document.
type Problem struct {
	// Rule is the stable id of the broken rule; see [Rules].
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	// Pointer is the JSON pointer (RFC 6901) of the value at fault, or of the object with
	// a missing key. The root is "".
	Pointer string `json:"pointer"`
	// Line and Column count from 1, columns in code points. A line ends with LF, CR LF
	// or CR.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Offset and End are the byte offsets of the first byte and after the last one.
	Offset int `json:"offset"`
	End    int `json:"end"`
	// Message states what is wrong, in one line. It never contains the value of an input,
	// which may be a secret.
	Message string `json:"message"`
	// Suggestion states how to correct it, or is empty.
	Suggestion string `json:"suggestion,omitempty"`
	// Fix is the change that most likely corrects it, or nil.
	Fix *Edit `json:"fix,omitempty"`

	from *origin // what found it, or nil
}

// origin is the check that found a list of problems.
type origin struct {
	opts    Options
	checked bool // by Validate, and not by Parse
	listed  int  // how many problems it listed
}

// again repeats the check with other text.
func (o *origin) again(data []byte) *Report {
	opts := o.opts
	opts.MaxProblems = max(opts.MaxProblems, maxFixes)
	d := parse(data, &opts)
	if o.checked {
		return d.Validate(&opts)
	}
	return d.syntaxReport()
}

// Edit replaces the bytes from Offset to before End of a document by Text.
type Edit struct {
	Offset int    `json:"offset"`
	End    int    `json:"end"`
	Text   string `json:"text"`
}

// apply returns text with edits, which are in order and do not overlap.
func apply(text string, edits []Edit) []byte {
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, text[done:e.Offset]...), e.Text...)
		done = e.End
	}
	return append(out, text[done:]...)
}

// Error returns "<line>:<column>: <pointer>: <message> (<suggestion>)" without the parts
// that are empty.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%d:%d: ", p.Line, p.Column)
	if p.Pointer != "" {
		text += jsonpos.OneLine(p.Pointer) + ": "
	}
	text += p.Message
	if p.Suggestion != "" {
		text += " (" + p.Suggestion + ")"
	}
	return text
}

// suggest completes a problem. p may be nil.
func (p *Problem) suggest(format string, args ...any) *Problem {
	switch {
	case p == nil:
	case len(args) == 0:
		p.Suggestion = format
	default:
		p.Suggestion = fmt.Sprintf(format, args...)
	}
	return p
}

// fix completes a problem with the change that corrects it. p may be nil.
func (p *Problem) fix(offset, end int, text string) {
	p.apply(&Edit{Offset: offset, End: end, Text: text})
}

// apply does what fix does. p may be nil.
func (p *Problem) apply(e *Edit) {
	if p != nil {
		p.Fix = e
	}
}

// Problems is a list of problems sorted by offset. A list that is not empty is an error.
type Problems []Problem

// Error returns one line per problem.
func (ps Problems) Error() string { return grammar.Lines(ps) }

// Unwrap gives errors.As access to the single problems.
func (ps Problems) Unwrap() []error { return grammar.Errors(ps) }

// Limits of fixes: how often they are applied, because one may uncover another, and how
// many problems are considered each time.
const (
	maxRounds = 20
	maxFixes  = 10_000
)

// Fix applies the fixes of all problems of a document, and of those that are found after
// that, until there are none. It returns the result, which may be data itself, the
// problems that were fixed, each with the positions of the text in which it was found,
// and the report about the result. Everything else stays unchanged, white space included.
// Review the result: a fix is the most likely correction, not a certain one.
func Fix(data []byte, opts *Options) (fixed []byte, done Problems, left *Report) {
	o := origin{opts: opts.withDefaults(), checked: true}
	return o.fix(data, o.again(data))
}

// fix applies the fixes of a report and of those that follow it.
func (o *origin) fix(data []byte, r *Report) (fixed []byte, done Problems, left *Report) {
	for range maxRounds {
		edits := r.Problems.edits(len(data))
		if len(edits) == 0 {
			break
		}
		applied := make(map[Edit]bool, len(edits))
		for _, e := range edits {
			applied[e] = true
		}
		for i := range r.Problems {
			if e := r.Problems[i].Fix; e != nil && applied[*e] {
				done = append(done, r.Problems[i])
			}
		}
		data = apply(string(data), edits)
		r = o.again(data)
	}
	return data, done, r
}

// Fix returns a copy of the document in which the problems were found, with their fixes
// applied, and how many were applied. Of overlapping fixes the first one is applied;
// fixes outside of data are ignored.
//
// If ps are all problems of a report or of the error of [Parse], the result is checked and
// fixed again as the function [Fix] does, because a fix may uncover other problems. A part
// of them is applied once, so that nothing else is changed.
func (ps Problems) Fix(data []byte) (fixed []byte, applied int) {
	edits := ps.edits(len(data))
	fixed, applied = apply(string(data), edits), len(edits)
	if applied > 0 && ps[0].from != nil && ps[0].from.listed == len(ps) {
		var more Problems
		fixed, more, _ = ps[0].from.fix(fixed, ps[0].from.again(fixed))
		applied += len(more)
	}
	return fixed, applied
}

// edits returns the fixes that can be applied to a text of a size, in its order.
func (ps Problems) edits(size int) []Edit {
	var edits []Edit
	for i := range ps {
		if e := ps[i].Fix; e != nil && e.Offset <= e.End && e.End <= size {
			edits = append(edits, *e)
		}
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Offset, b.Offset) })
	done := 0
	return slices.DeleteFunc(edits, func(e Edit) bool {
		overlaps := e.Offset < done
		if !overlaps {
			done = e.End
		}
		return overlaps
	})
}

// Below returns the problems at a JSON pointer and below it.
func (ps Problems) Below(pointer string) Problems {
	var below Problems
	for i := range ps {
		if rest, ok := strings.CutPrefix(ps[i].Pointer, pointer); ok && (rest == "" || rest[0] == '/') {
			below = append(below, ps[i])
		}
	}
	return below
}

// Report is the result of a validation.
type Report struct {
	// Problems are sorted by offset, at most Options.MaxProblems. If there are more,
	// errors are listed before warnings, and earlier ones first. The list is empty and not
	// nil, [] in JSON, if there are none.
	Problems Problems `json:"problems"`
	// Errors and Warnings count all problems, including those that are not listed.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// Valid reports whether there are no errors. There may be warnings.
func (r *Report) Valid() bool { return r.Errors == 0 }

// Omitted returns how many problems are not listed.
func (r *Report) Omitted() int { return r.Errors + r.Warnings - len(r.Problems) }

// Err returns nil for a valid document, else the listed errors as [Problems].
func (r *Report) Err() error {
	if r.Valid() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p Problem) bool { return p.Severity != Error })
}

// findings collects problems and counts those beyond its limit.
type findings struct {
	max                int
	errors, warnings   Problems
	nErrors, nWarnings int
}

// add adds a problem with a value. It returns nil if the problem will not be listed.
func (f *findings) add(s Severity, rule Rule, path jsonpos.Path, n *Node, format string, args ...any) *Problem {
	list, count := &f.errors, &f.nErrors
	if s != Error {
		list, count = &f.warnings, &f.nWarnings
	}
	if *count++; len(*list) >= f.max {
		return nil
	}
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	*list = append(*list, Problem{Rule: rule, Severity: s, Pointer: path.Pointer(), Offset: n.Start, End: n.End, Message: message})
	return &(*list)[len(*list)-1]
}

// fixLast completes the last error with a suggestion and the change that applies it,
// unless it has a change or is not listed.
func (f *findings) fixLast(suggestion string, e *Edit) {
	if len(f.errors) != f.nErrors || f.nErrors == 0 {
		return
	}
	if p := &f.errors[f.nErrors-1]; p.Fix == nil {
		p.suggest("%s", suggestion).apply(e)
	}
}

// report sorts the problems and finds their lines and columns.
func (f *findings) report(text string, from *origin) *Report {
	all := append(Problems{}, f.errors[:min(len(f.errors), f.max)]...)
	all = append(all, f.warnings[:min(len(f.warnings), f.max-len(all))]...)
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), strings.Compare(string(a.Rule), string(b.Rule)))
	})
	cursor := jsonpos.NewCursor(text)
	from.listed = len(all)
	for i := range all {
		all[i].from = from
		cursor.MoveTo(all[i].Offset)
		all[i].Line, all[i].Column = cursor.Line, cursor.Column
	}
	return &Report{Problems: all, Errors: f.nErrors, Warnings: f.nWarnings}
}
