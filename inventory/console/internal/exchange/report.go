package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// importReport is the response of the API to an import.
type importReport struct {
	Rows, Created, Updated, Unchanged, Rejected int64
	Problems                                    []problem
	Truncated                                   bool
	RejectedRows                                string `json:"rejected_rows"`
	Changes                                     []site.Change
}

// problem describes an invalid row.
type problem struct {
	Line                  int64
	Column, Value, Reason string

	InFile string `json:"-"` // the name of the column in the file, if it is another one
}

// report is a report for a page.
type report struct {
	*importReport
	Changed []*changed    // the first records that are changed or deleted
	New     []*newRecords // the first new ones, by resource
	More    int           // changes that are not shown
	Packed  string        // the rejected rows, packed; empty if there are none
	Mend    string        // the rejected rows, if they are few enough to correct them on the page
}

// changed is a record that is changed or deleted.
type changed struct {
	Action, Kind, Label, URL string
	Fields                   []site.Diff
}

// newRecords are new records of a resource.
type newRecords struct {
	Resource *records.Resource
	Columns  []string
	Rows     [][]string
}

// The bounds of what a page shows.
const (
	maxShown  = 50       // records of each action
	maxValues = 8        // columns of new records
	maxMend   = 64 << 10 // bytes of rows to correct on the page
)

// view returns a report for a page.
func (a *importReport) view(q *site.Request, t *table) (*report, error) {
	for i, p := range a.Problems {
		a.Problems[i].InFile = t.nameOf(p.Column)
	}
	slices.SortStableFunc(a.Problems, func(x, y problem) int { return cmp.Compare(x.Line, y.Line) })
	v := &report{importReport: a}
	if a.RejectedRows != "" {
		v.Packed = pack([]byte(a.RejectedRows))
		if len(a.RejectedRows) <= maxMend {
			v.Mend = strings.ToValidUTF8(a.RejectedRows, "\ufffd")
		}
	}
	var err error
	v.Changed, v.New, v.More, err = describeChanges(q, a.Changes)
	return v, err
}

// describeChanges returns the first changes of a dry run for a page, and how many it leaves out.
func describeChanges(q *site.Request, changes []site.Change) (others []*changed, added []*newRecords, more int, err error) {
	var shown []site.Change
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
			site.RefIDs(ids, r, c.Changes)
		}
	}
	labels, err := q.LabelsOf(ids)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, c := range shown {
		r := q.OfKind(c.Kind)
		switch {
		case r == nil:
		case c.Action == "create":
			added = addNew(added, r, c, labels)
		default:
			others = append(others, describeChange(q, r, c, labels))
		}
	}
	return others, added, len(changes) - len(shown), nil
}

// describeChange returns a change of a record for a page.
func describeChange(q *site.Request, r *records.Resource, c site.Change, labels map[string]string) *changed {
	v := &changed{Action: c.Action, Kind: r.Label, URL: q.RecordURL(r.Name, c.ID)}
	v.Label = cmp.Or(labels[c.ID], site.Label(r, site.Record{"id": c.ID}))
	if c.Action != "delete" {
		v.Fields = site.Diffs(r, c.Changes, func(f *records.Field, value any) string { return valueOf(f, value, labels) })
	}
	return v
}

// valueOf returns a value for a page: of a reference, what people call the record.
func valueOf(f *records.Field, value any, labels map[string]string) string {
	text := site.Text(value)
	if f.Ref == nil || text == "" {
		return printable.Truncate(text, 300)
	}
	if label := labels[text]; label != "" {
		return label
	}
	return fmt.Sprintf("a new %s, or one that you may not see", f.Ref.Resource().Noun())
}

// addNew adds a new record to those of its resource. Its columns are the fields with values.
func addNew(all []*newRecords, r *records.Resource, c site.Change, labels map[string]string) []*newRecords {
	at := slices.IndexFunc(all, func(n *newRecords) bool { return n.Resource == r })
	if at < 0 {
		at, all = len(all), append(all, &newRecords{Resource: r})
	}
	n := all[at]
	row := make([]string, len(n.Columns))
	for _, f := range r.Fields() {
		value, ok := c.Changes[f.Name]
		text := valueOf(f, value.After, labels)
		if !ok || text == "" || f.ReadOnly {
			continue
		}
		label := site.FieldLabel(f)
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
func (n *newRecords) Title() string { return "New " + site.Plural(n.Resource) }

// Cells returns a row with a value for each column, for a page.
func (n *newRecords) Cells(row []string) [][2]string {
	cells := make([][2]string, len(n.Columns))
	for i, name := range n.Columns {
		cells[i][0] = name
		if i < len(row) {
			cells[i][1] = row[i]
		}
	}
	return cells
}
