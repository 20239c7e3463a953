package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// Values is what a user has given, by [Prompt.Key] or by the pointer of the input
// within the package or remote. All but repeated arguments take one value.
//
// As JSON it is an object of strings, numbers, booleans and arrays of these, which
// is what [Form.Schema] describes.
type Values map[string][]string

// UnmarshalJSON reads an object. Numbers keep the text they are written with.
func (v *Values) UnmarshalJSON(data []byte) error {
	d, err := Parse(data, &Options{MaxBytes: len(data), MaxValues: len(data)})
	if err != nil {
		return err
	}
	if d.root.Kind != KindObject {
		return fmt.Errorf("values must be an object and are %s", d.root.Kind)
	}
	read := make(Values, len(d.root.Members))
	for i := range d.root.Members {
		m := &d.root.Members[i]
		texts, ok := textsOf(&m.Value)
		if !ok {
			return fmt.Errorf("the value of %s must be a string, a number, a boolean or an array of these", show(m.Key))
		}
		read[m.Key] = texts
	}
	*v = read
	return nil
}

// textsOf reads the values of one input.
func textsOf(n *Node) ([]string, bool) {
	switch n.Kind {
	case KindString, KindNumber, KindBoolean:
		return []string{n.Text}, true
	case KindArray:
		texts := make([]string, len(n.Elements))
		for i := range n.Elements {
			e := &n.Elements[i]
			if e.Kind == KindNull || e.Kind == KindArray || e.Kind == KindObject {
				return nil, false
			}
			texts[i] = e.Text
		}
		return texts, true
	}
	return nil, false
}

// FaultKind tells faults apart.
type FaultKind string

// The kinds of faults.
const (
	FaultMissing  FaultKind = "missing"  // a required input was not given
	FaultUnknown  FaultKind = "unknown"  // a value was given for what is no input
	FaultValue    FaultKind = "value"    // a value is not one that the input can have
	FaultManifest FaultKind = "manifest" // the manifest can't be resolved as it is
)

// Fault is one reason why something can't be resolved.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Key is what [Values] takes for the input, "" if it is about none. Giving another
	// value helps against a default that is not possible, too.
	Key string `json:"key,omitempty"`
	// Pointer is that of the value in the manifest, "" for a FaultUnknown. Where it
	// stands in the text is what [Document.Lookup] and [Document.Position] say.
	Pointer string `json:"pointer"`
	// Message says what is wrong, on one line. It repeats no value of an input.
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Error is "<pointer>: <message> (<suggestion>)", without what is empty.
func (f *Fault) Error() string {
	text := f.Message
	if f.Pointer != "" {
		text = oneLine(f.Pointer) + ": " + text
	}
	if f.Suggestion != "" {
		text += " (" + f.Suggestion + ")"
	}
	return text
}

// Faults is all that keeps something from being resolved, in the order of the
// manifest, at most 100. It is an error if it is not empty.
type Faults []Fault

// Error is one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i := range fs {
		lines[i] = fs[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As access to the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i := range fs {
		errs[i] = &fs[i]
	}
	return errs
}

// Missing are the keys of the required inputs that were not given, for a client
// that asks for them and tries again.
func (fs Faults) Missing() []string {
	var keys []string
	for i := range fs {
		if f := &fs[i]; f.Kind == FaultMissing && !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}
