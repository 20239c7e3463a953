package site

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Changes describes what a dry run would change, for the template "steps-changes".
type Changes struct {
	Changed []*ChangedRecord // the first records that are changed or deleted
	New     []*NewRecords    // the first new ones, by resource
	More    int              // changes that are not shown
}

// The bounds of what a page shows.
const (
	maxShown  = 50 // records of each action
	maxValues = 8  // columns of new records
)

// ChangedRecord is a record that is changed or deleted.
type ChangedRecord struct {
	Action, Kind, Label, URL string
	Fields                   []Diff
}

// NewRecords are new records of a resource.
type NewRecords struct {
	Resource *records.Resource
	Columns  []string
	Rows     [][]string
}

// DescribeChanges returns the first changes of a dry run for a page, and how many it leaves out.
func (q *Request) DescribeChanges(changes []Change) (d Changes, err error) {
	var shown []Change
	count := map[bool]int{}
	for _, c := range changes {
		isNew := c.Action == "create"
		if count[isNew]++; count[isNew] <= maxShown {
			shown = append(shown, c)
		}
	}
	ids := map[string][]string{}
	for _, c := range shown {
		if r := q.OfKind(c.Kind); r != nil {
			ids[r.Name] = append(ids[r.Name], c.ID)
			q.RefIDs(ids, r, c.Changes)
		}
	}
	labels, err := q.LabelsOf(ids)
	if err != nil {
		return d, err
	}
	for _, c := range shown {
		r := q.OfKind(c.Kind)
		switch {
		case r == nil:
		case c.Action == "create":
			d.New = addNew(d.New, r, c, labels)
		default:
			changed := &ChangedRecord{Action: c.Action, Kind: r.Label, URL: q.RecordURL(r.Name, c.ID)}
			changed.Label = cmp.Or(labels[c.ID], Label(r, Record{"id": c.ID}))
			if c.Action != "delete" {
				changed.Fields = Diffs(r, c.Changes, func(f *records.Field, value any) string { return valueOf(f, value, labels) })
			}
			d.Changed = append(d.Changed, changed)
		}
	}
	d.More = len(changes) - len(shown)
	return d, nil
}

// valueOf returns a value for a page: of a reference, what people call the record.
func valueOf(f *records.Field, value any, labels map[string]string) string {
	text := Named(value, labels)
	if f.Kind == records.Bool {
		text = BoolText(f, text)
	}
	if f.Ref == nil || text == "" {
		return printable.Truncate(text, 300)
	}
	if label := labels[text]; label != "" {
		return label
	}
	return fmt.Sprintf("a new %s, or one that you may not see", f.Ref.Resource().Noun())
}

// addNew adds a new record to those of its resource. Its columns are the fields with values.
func addNew(all []*NewRecords, r *records.Resource, c Change, labels map[string]string) []*NewRecords {
	at := slices.IndexFunc(all, func(n *NewRecords) bool { return n.Resource == r })
	if at < 0 {
		at, all = len(all), append(all, &NewRecords{Resource: r})
	}
	n := all[at]
	row := make([]string, len(n.Columns))
	for _, f := range r.Fields() {
		value, ok := c.Changes[f.Name]
		text := valueOf(f, value.After, labels)
		if !ok || text == "" || f.ReadOnly {
			continue
		}
		label := FieldLabel(f)
		column := slices.Index(n.Columns, label)
		if column < 0 && len(n.Columns) < maxValues {
			column, n.Columns, row = len(n.Columns), append(n.Columns, label), append(row, "")
		}
		if column >= 0 {
			row[column] = printable.Truncate(text, 60)
		}
	}
	n.Rows = append(n.Rows, row)
	return all
}

// Title returns a title: New devices.
func (n *NewRecords) Title() string { return "New " + Plural(n.Resource) }

// Cells returns a row with a value for each column, for a page.
func (n *NewRecords) Cells(row []string) [][2]string {
	cells := make([][2]string, len(n.Columns))
	for i, name := range n.Columns {
		cells[i][0] = name
		if i < len(row) {
			cells[i][1] = row[i]
		}
	}
	return cells
}
