package xds

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Fault is one problem, or warning, at one place of a resource.
type Fault struct {
	// Resource is the name of the resource; if it has none, its place in the response
	// ("resources[2]").
	Resource string
	// Path leads to the field, "descriptors[0].descriptors[2].rate_limit.unit". It is
	// empty if the resource as a whole is meant.
	Path string
	// Reason says what is wrong and, where it isn't plain, what would be right.
	Reason string
}

// Error is "<resource>: <path>: <reason>", or "<resource>: <reason>". It is one
// line.
func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Resource + ": " + f.Reason
	}
	return f.Resource + ": " + f.Path + ": " + f.Reason
}

// Faults is the error of a configuration that can't be used: everything that is
// wrong with it, in the order of the resources' names and of their rules. It is never
// empty.
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

// pathText is the path of rules in the words of the resource type.
func pathText(path []int, field string) string {
	var b strings.Builder
	for _, n := range path {
		fmt.Fprintf(&b, "descriptors[%d].", n)
	}
	return strings.TrimSuffix(b.String()+field, ".")
}

// finding is a fault while there may be others to sort it with.
type finding struct {
	source int // the index of the resource
	path   []int
	field  string
	reason string
}

// place is different for every place of a response.
func (f *finding) place() string {
	return strconv.Itoa(f.source) + " " + pathText(f.path, f.field)
}

// translate words what Compile found in the domains.
func translate(resources []resource, faults []*ratelimit.Fault) []finding {
	out := make([]finding, len(faults))
	for i, f := range faults {
		out[i] = finding{source: f.Source, path: f.Path, field: f.Field, reason: f.Reason}
		if o := f.Other; o != nil {
			place := strings.TrimSuffix(resources[o.Source].name+": "+pathText(o.Path, ""), ": ")
			out[i].reason += " (the other is at " + place + ")"
		}
	}
	return out
}

// report sorts findings by place. The order among those of one place is kept.
func report(resources []resource, found []finding) []*Fault {
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.source, b.source), slices.Compare(a.path, b.path))
	})
	var out []*Fault
	for _, f := range found {
		name := oneLine(resources[f.source].name, maxShown)
		if len(out) == maxFaults {
			return append(out, &Fault{Resource: name, Reason: fmt.Sprintf("more than %d problems: the rest is left out", maxFaults)})
		}
		out = append(out, &Fault{Resource: name, Path: pathText(f.path, f.field), Reason: oneLine(f.reason, maxReason)})
	}
	return out
}

// maxFaults is how many faults, and how many warnings, of one response are kept; as
// soon as there are tooMany no more are looked for.
const (
	maxFaults = 1000
	tooMany   = maxFaults + 1
)

// How many bytes of a name a fault repeats, how long a reason may be, and how long
// the detail of a refusal may be in all.
const (
	maxShown  = 100
	maxReason = 1000
	maxDetail = 8 << 10
)

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

// detail is the text of an error for the server: whole lines as long as there is
// room, and how many are left out.
func detail(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) <= maxDetail {
		return text
	}
	kept := text[:maxDetail]
	if end := strings.LastIndexByte(kept, '\n'); end >= 0 {
		kept = kept[:end]
	} else {
		kept = strings.ToValidUTF8(kept, "")
	}
	if left := strings.Count(text[len(kept):], "\n"); left > 0 {
		return fmt.Sprintf("%s\nand %d more", kept, left)
	}
	return kept + "..."
}
