package ratelimit

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong, or worth a warning, in the domains given to Compile.
type Fault struct {
	// Domain is the domain's name, and Source its index in the list given to
	// Compile: with merging, several sources may share a name.
	Domain string
	Source int
	// Path leads to the rule: the index in Domain.Rules, then in that rule's Rules
	// and so on. Empty means the domain itself.
	Path []int
	// Field is what in the rule is at fault, in the words of the configuration
	// format ("rate_limit.unit"); empty for the rule as a whole.
	Field string
	// Reason says what is wrong and what would be right.
	Reason string
	// Other is where the other rule stands if the fault lies between two; nil if
	// not.
	Other *Place
}

// Place is where a rule stands in the domains given to Compile.
type Place struct {
	Source int   // as in Fault
	Path   []int // as in Fault
}

// String leads there from the list given to Compile: "domains[0].descriptors[2]".
func (p *Place) String() string {
	s := fmt.Sprintf("domains[%d]", p.Source)
	for _, n := range p.Path {
		s += fmt.Sprintf(".descriptors[%d]", n)
	}
	return s
}

// Error names the place in the tree and the reason, such as
//
//	domain "mongo": descriptors[0].descriptors[2].rate_limit.unit: invalid rate limit unit 'x'
func (f *Fault) Error() string {
	s := fmt.Sprintf("domain %q: %s", f.Domain, f.locate()+f.Reason)
	if f.Other != nil {
		s += " (the other is at " + f.Other.String() + ")"
	}
	return s
}

func (f *Fault) locate() string {
	var b strings.Builder
	for i, n := range f.Path {
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprintf(&b, "descriptors[%d]", n)
	}
	if f.Field != "" {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(f.Field)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	return b.String()
}

// Faults is the error of Compile: everything that is wrong, in the order of the
// input. It is never empty.
type Faults []*Fault

// Error is one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As access to the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}
