package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// NewRow returns a row with some values: by the names of fields, and natural keys by the names of members.
// Its text is an item of a YAML list, which can be imported again.
func NewRow(file string, line int, r *records.Resource, values map[string]any) (*Row, error) {
	row := &Row{File: file, Line: int64(line), Resource: r, Patch: records.Patch{}}
	named := map[string]any{"_resource": r.Name}
	for name, value := range values {
		doc, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		row.Patch[name], named[name] = doc, json.RawMessage(doc)
	}
	text, err := json.Marshal(named)
	row.Text = append(append([]byte("- "), text...), '\n')
	return row, err
}

// Fail returns the [*FileError] for a line of a file, from 1; 0 is the first one.
func Fail(file string, line int, format string, args ...any) error {
	return &FileError{[]Problem{{File: file, Line: int64(max(line, 1)), Reason: fmt.Sprintf(format, args...)}}}
}

// Address returns the address that a text is, without a zone; "" for any other text.
func Address(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return ""
	}
	return a.String()
}

// MaxTags is the maximum number of tags of a device.
const MaxTags = 50

// IsTag reports whether a text can be a tag of a device: a short line.
func IsTag(text string) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= records.MaxElement && !strings.ContainsFunc(text, unicode.IsControl)
}

// Rows returns a source of n rows, each made when it is read.
func Rows(n int, row func(i int) (*Row, error)) Source {
	at := -1
	return sourceFunc(func() (*Row, error) {
		if at++; at >= n {
			return nil, io.EOF
		}
		return row(at)
	})
}

// sourceFunc is a function as a [Source].
type sourceFunc func() (*Row, error)

// Next returns the next row.
func (f sourceFunc) Next() (*Row, error) { return f() }

// Count is a number of objects of a kind that have no counterpart in the inventory.
type Count struct {
	Kind    string
	Objects int64
}

// Counts returns numbers by kind, the most objects first.
func Counts(of map[string]int64) (all []Count) {
	for kind, n := range of {
		if n > 0 {
			all = append(all, Count{kind, n})
		}
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), strings.Compare(a.Kind, b.Kind))
	})
	return all
}
