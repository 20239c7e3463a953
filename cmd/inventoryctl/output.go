package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// tableRows is the number of rows whose columns are aligned together.
const tableRows = 1000

// maxCell is the maximum number of characters of a cell.
const maxCell = 60

// table writes aligned columns.
type table struct {
	w    *tabwriter.Writer
	rows int
}

func newTable(w io.Writer, head ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	fmt.Fprintln(t.w, strings.Join(head, "\t"))
	return t
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cell = cli.Printable(cell)
		if runes := []rune(cell); len(runes) > maxCell {
			cell = string(runes[:maxCell-1]) + "…"
		}
		cells[i] = cell
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
	if t.rows++; t.rows%tableRows == 0 {
		t.flush()
	}
}

func (t *table) flush() { _ = t.w.Flush() }

// columnsOf returns the columns of a table: the names of records, and what they are mostly filtered by; wide
// is all that clients can set, except long texts.
func columnsOf(r *records.Resource, wide bool) (names []string) {
	add := func(f *records.Field) {
		name := f.Name
		if f.Member != "" {
			name = f.Member
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, refs := range []bool{false, true} {
		for _, key := range r.Keys {
			for _, name := range key {
				if f, _ := r.Field(name); (f.Ref != nil) == refs && (!refs || len(r.Keys) < 4) { // cables have a key for each kind of port
					add(f)
				}
			}
		}
	}
	for _, f := range r.Fields() {
		switch {
		case f.Hidden || f.WriteOnly || f.ReadOnly || f.Format == "text":
		case wide, len(names) < 7 && (f.Index || f.Counted || len(r.Keys) >= 4 && f.Ref != nil):
			add(f)
		}
	}
	return names
}

// cell returns a value of a row with natural keys as people name it.
func cell(doc json.RawMessage) string {
	var v any
	if len(doc) == 0 || json.Unmarshal(doc, &v) != nil {
		return ""
	}
	return label(v)
}

// label returns a value as people write it: the name of a record is that in its natural key, after that of
// its device.
func label(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = label(part)
		}
		return strings.Join(parts, ",")
	case map[string]any:
		own := ""
		for name, part := range v {
			if _, nested := part.(map[string]any); !nested && part != nil && (own == "" || name == "name" || name == "hostname") {
				own = label(part)
			}
		}
		if of, ok := v["device"]; ok {
			return label(of) + ":" + own
		}
		if vrf := label(v["vrf"]); vrf != "" {
			own += "@" + vrf
		}
		return own
	case float64:
		doc, _ := json.Marshal(v)
		return string(doc)
	}
	return fmt.Sprint(v)
}
