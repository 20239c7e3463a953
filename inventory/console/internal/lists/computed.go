package lists

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory/site"
)

// addComputed adds the columns that features compute to a list whose columns nobody has chosen.
func (v *view) addComputed(l *list, recs []site.Record) error {
	for _, c := range v.Computed {
		if len(recs) == 0 || v.chosen || c.Resource != v.resource.Name || !v.MaySee(c.Needs...) {
			continue
		}
		cells, err := c.Load(v.Request, recs)
		if err != nil {
			return err
		}
		at := min(2, len(l.Head)) // beside what names the record, and its state
		l.Head = slices.Insert(l.Head, at, column{Label: c.Label, Number: len(cells) > 0 && cells[0].Kind == "number"})
		for i := range cells {
			l.Rows[i].Cells = slices.Insert(l.Rows[i].Cells, at, cell{Cell: cells[i], Label: c.Label})
		}
	}
	return nil
}
