package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is how bad a problem is.
type Severity string

// A document with an Error is not valid under the profile; one with a Warning is,
// but is hardly meant that way.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one fault of a document.
type Problem struct {
	// Rule is the stable id of the rule that is broken; see [Rules].
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	// Pointer is the JSON pointer (RFC 6901) of the value that is at fault, that of
	// the object if a key is missing. The root is "".
	Pointer string `json:"pointer"`
	// Line and Column count from 1, columns in code points. A line ends with LF,
	// CR LF or CR.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Offset and End are byte offsets: of the first byte, and after the last.
	Offset int `json:"offset"`
	End    int `json:"end"`
	// Message says what is wrong. It is one line and repeats no value of an input,
	// which might be a secret.
	Message string `json:"message"`
	// Suggestion says what would be right, or is empty.
	Suggestion string `json:"suggestion,omitempty"`
	// Fix is the change that would most likely be right, or nil.
	Fix *Edit `json:"fix,omitempty"`
}

// Edit replaces the bytes from Offset to before End of a document by Text.
type Edit struct {
	Offset int    `json:"offset"`
	End    int    `json:"end"`
	Text   string `json:"text"`
}

// Error is "<line>:<column>: <pointer>: <message> (<suggestion>)", without what
// is empty.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	if p.Pointer != "" {
		b.WriteString(oneLine(p.Pointer) + ": ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		b.WriteString(" (" + p.Suggestion + ")")
	}
	return b.String()
}

// Problems is a list of problems sorted by offset, as an error if it is not empty.
type Problems []Problem

// Error is one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i := range ps {
		lines[i] = ps[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As access to the single problems.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i := range ps {
		errs[i] = &ps[i]
	}
	return errs
}

// Report is what validation found.
type Report struct {
	// Problems are sorted by offset, and at most Options.MaxProblems: if there are
	// more, errors are listed before warnings, and what was found first. They are empty
	// and not nil, [] as JSON, if there are none.
	Problems Problems `json:"problems"`
	// Errors and Warnings count all problems, those that are not listed too.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// Valid says that there is no error. There may be warnings.
func (r *Report) Valid() bool { return r.Errors == 0 }

// Omitted is how many problems were found and are not listed.
func (r *Report) Omitted() int { return r.Errors + r.Warnings - len(r.Problems) }

// Err is nil for a valid document, else the listed errors as [Problems].
func (r *Report) Err() error {
	if r.Valid() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p Problem) bool { return p.Severity != Error })
}

// findings gathers problems, without those that would not be listed.
type findings struct {
	max              int
	errors, warnings Problems
	nErrors          int
	nWarnings        int
}

// room counts one more problem and says whether it will be listed.
func (f *findings) room(s Severity) bool {
	if s == Error {
		f.nErrors++
		return len(f.errors) < f.max
	}
	f.nWarnings++
	return len(f.warnings) < f.max
}

func (f *findings) add(p Problem) *Problem {
	list := &f.errors
	if p.Severity != Error {
		list = &f.warnings
	}
	*list = append(*list, p)
	return &(*list)[len(*list)-1]
}

// report puts what was found in order and says where it stands in the text.
func (f *findings) report(text string) *Report {
	warnings := f.warnings[:min(len(f.warnings), max(0, f.max-len(f.errors)))]
	all := append(Problems{}, f.errors[:min(len(f.errors), f.max)]...)
	all = append(all, warnings...)
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), strings.Compare(string(a.Rule), string(b.Rule)))
	})
	locate(text, all)
	return &Report{Problems: all, Errors: f.nErrors, Warnings: f.nWarnings}
}
