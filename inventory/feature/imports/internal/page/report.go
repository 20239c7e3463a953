package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/site"
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
	site.Changes
	Packed string // the rejected rows, packed; empty if there are none
	Mend   string // the rejected rows, if they are few enough to correct them on the page
}

// maxMend is the number of bytes of rows to correct on the page.
const maxMend = 64 << 10

// view returns a report for a page.
func (a *importReport) view(q *site.Request, t *table) (*report, error) {
	for i, p := range a.Problems {
		a.Problems[i].InFile = t.nameOf(p.Column)
	}
	slices.SortStableFunc(a.Problems, func(x, y problem) int { return cmp.Compare(x.Line, y.Line) })
	v := &report{importReport: a}
	if a.RejectedRows != "" {
		v.Packed = site.Pack([]byte(a.RejectedRows))
		if len(a.RejectedRows) <= maxMend {
			v.Mend = strings.ToValidUTF8(a.RejectedRows, "\ufffd")
		}
	}
	var err error
	v.Changes, err = q.DescribeChanges(a.Changes)
	return v, err
}
