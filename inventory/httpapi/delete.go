package httpapi

import (
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
)

// deleteOne is DELETE of one record.
func (c *call) deleteOne(r *inventory.Resource) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	edit := inventory.Edit{ID: id, Apply: func(rec inventory.Record) error {
		if err := c.match(rec); err != nil {
			return err
		}
		return c.mayDelete(rec)
	}}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edit); err != nil {
		return err
	}
	c.forgetIDs(r, id)
	return c.confirm(r.Label() + " deleted successfully")
}

// deleteMany is DELETE of several records: all of them or none (reference, ruling 3).
func (c *call) deleteMany(r *inventory.Resource) error {
	ids, err := c.readIDs()
	if err != nil {
		return err
	}
	edits := make([]inventory.Edit, len(ids))
	for i, id := range ids {
		edits[i] = inventory.Edit{ID: id, Apply: c.mayDelete}
	}
	if err := c.inventory().Delete(c.r.Context(), c.caller(), r, edits...); err != nil {
		return err
	}
	c.forgetIDs(r, ids...)
	c.send(http.StatusOK, func(b []byte) []byte { return appendDeleted(b, ids) })
	return nil
}

// appendDeleted is the body of the answer: the ids in the order in which they were sent.
func appendDeleted(b []byte, ids []string) []byte {
	b = append(appendBulk(b, "delete", "deleted", len(ids)), '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, id)
	}
	return append(b, "]}"...)
}
