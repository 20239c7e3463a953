package httpapi

import (
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Custom fields are records like others; the store changes its schema with them. Only the dry run of
// a deletion differs: it counts the values that would be lost (REFERENCE.md, 1.6).

// losing makes the dry run of a deletion count values.
func (rt *route) losing() {
	if rt.does != records.RouteDelete {
		return
	}
	r := rt.resource
	rt.doc.Summary = "Delete one custom field, with its values"
	rt.handle = func(c *call) error {
		if !c.dryRun {
			return c.deleteOne(c.current(r))
		}
		return c.countLost(c.current(r))
	}
}

// countLost responds with what the deletion of a custom field would lose.
func (c *call) countLost(r *records.Resource) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	var field *inventory.CustomField
	edit := records.Edit{ID: id, Apply: func(rec records.Record) error {
		field = rec.(*inventory.CustomField)
		return c.checkPreconditions(rec)
	}}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edit); err != nil {
		return err
	}
	var lost int64
	if of, ok := c.schema.Named(field.Resource); ok {
		if f, ok := of.Field(field.Name); ok {
			q := &records.Query{Resource: of, Filters: []records.Filter{{Field: f, Op: records.IsNull, Value: false}}}
			if lost, err = c.count(q); err != nil {
				return err
			}
		}
	}
	return c.sendPreview(fmt.Sprintf("Would delete 1 custom field, and the values of %s of %d %s", field.Name, lost, field.Resource))
}
