package launch

import (
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Values holds the values from a user, by [Prompt.Key] or by the pointer of the input within
// the package or remote. Only repeated arguments may have more than one value.
//
// The JSON form is an object of strings, numbers, booleans and arrays of these, as
// [Form.Schema] describes it.
type Values map[string][]string

// UnmarshalJSON reads an object. Numbers keep their literals.
func (v *Values) UnmarshalJSON(data []byte) error {
	d, err := manifest.Parse(data, &manifest.Options{MaxBytes: len(data), MaxValues: len(data)})
	if err != nil {
		return err
	}
	root := d.Root()
	if root.Kind != manifest.KindObject {
		return fmt.Errorf("values must be an object, not %s", root.Kind)
	}
	read := make(Values, len(root.Members))
	for i := range root.Members {
		m := &root.Members[i]
		texts := []string{}
		nodes := []manifest.Node{m.Value}
		if m.Value.Kind == manifest.KindArray {
			nodes = m.Value.Elements
		}
		for _, n := range nodes {
			if n.Kind == manifest.KindNull || n.Kind == manifest.KindArray || n.Kind == manifest.KindObject {
				return fmt.Errorf("the value of %s must be a string, a number, a boolean or an array of these", jsonpos.Quote(m.Key))
			}
			texts = append(texts, n.Text)
		}
		read[m.Key] = texts
	}
	*v = read
	return nil
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	FaultMissing  FaultKind = "missing"  // a required input has no value
	FaultUnknown  FaultKind = "unknown"  // a value has the key of no input
	FaultValue    FaultKind = "value"    // a value is not allowed for its input
	FaultManifest FaultKind = "manifest" // the manifest cannot be resolved as it is
)

// Fault is one reason why a package or remote cannot be resolved.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Key identifies the input in [Values], or is "". It is also set if the default of the
	// input is at fault, because another value avoids that.
	Key string `json:"key,omitempty"`
	// Pointer is the JSON pointer of the value in the manifest, "" for a FaultUnknown.
	// [manifest.Document.Lookup] and [manifest.Document.Position] find its line.
	Pointer string `json:"pointer"`
	// Message states what is wrong, in one line. It never contains a secret or what a user
	// provided.
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Error returns "<pointer>: <message> (<suggestion>)" without the parts that are empty.
func (f *Fault) Error() string {
	text := f.Message
	if f.Pointer != "" {
		text = jsonpos.OneLine(f.Pointer) + ": " + text
	}
	if f.Suggestion != "" {
		text += " (" + f.Suggestion + ")"
	}
	return text
}

// Faults are all reasons why a package or remote cannot be resolved, in the order of the
// manifest, at most 100. A list that is not empty is an error.
type Faults []Fault

// Error returns one line per fault.
func (fs Faults) Error() string { return grammar.Lines(fs) }

// Unwrap gives errors.As access to the single faults.
func (fs Faults) Unwrap() []error { return grammar.Errors(fs) }

// Missing returns the keys of the required inputs without a value, for a client that prompts
// for them and resolves again.
func (fs Faults) Missing() []string {
	var keys []string
	for i := range fs {
		if f := &fs[i]; f.Kind == FaultMissing && !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}
