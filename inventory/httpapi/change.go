package httpapi

import (
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
)

// changeOne is PATCH of one record.
func (c *call) changeOne(r *inventory.Resource) error {
	p, err := c.readOne()
	if err != nil {
		return err
	}
	return c.edit(r, func(id string) (apply, error) { return c.patch(r, id, p) })
}

// replaceOne is PUT of one record.
func (c *call) replaceOne(r *inventory.Resource) error {
	p, err := c.readOne()
	if err != nil {
		return err
	}
	return c.edit(r, func(id string) (apply, error) {
		if err := sameID(p, id); err != nil {
			return nil, err
		}
		return c.replacement(r, id, p)
	})
}

// apply makes of a record what it is to be.
type apply = func(rec inventory.Record) error

// edit changes the record of the path and answers with it.
func (c *call) edit(r *inventory.Resource, plan func(id string) (apply, error)) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	apply, err := plan(id)
	if err != nil {
		return err
	}
	done, err := c.inventory().Update(c.r.Context(), c.caller(), r, inventory.Edit{
		ID: id, ActionOf: actionOf,
		Apply: func(rec inventory.Record) error {
			if err := c.match(rec); err != nil {
				return err
			}
			return apply(rec)
		},
	})
	if err != nil {
		return err
	}
	c.forget(done...)
	c.sendRecord(http.StatusOK, r, done[0])
	return nil
}

// patch is a partial update of a record. Those of users have rules of their own.
func (c *call) patch(r *inventory.Resource, id string, p inventory.Patch) (apply, error) {
	if r != inventory.Of[inventory.User]() {
		return p.Apply, nil
	}
	password, err := c.passwordIn(id, p)
	if err != nil {
		return nil, err
	}
	return c.userRules(p.Apply, password), nil
}

// replacement puts what an object describes in the place of a record.
func (c *call) replacement(r *inventory.Resource, id string, p inventory.Patch) (apply, error) {
	if r == inventory.Of[inventory.User]() {
		return c.userReplacement(id, p)
	}
	rec, err := draft(r, p)
	if err != nil {
		return nil, err
	}
	return inventory.Replacement(rec), nil
}

// changeMany is PATCH of several records: all of them or none (reference, ruling 3).
func (c *call) changeMany(r *inventory.Resource) error {
	items, err := c.readMany()
	if err != nil {
		return err
	}
	if r == inventory.Of[inventory.User]() {
		if err := fewPasswords(items); err != nil {
			return err
		}
	}
	return c.editMany(r, items, func(id string, p inventory.Patch) (apply, error) { return c.patch(r, id, p) })
}

// editMany changes several records and answers with them.
func (c *call) editMany(r *inventory.Resource, items []inventory.Patch, plan func(id string, p inventory.Patch) (apply, error)) error {
	edits, err := editsOf(items, plan)
	if err != nil {
		return err
	}
	done, err := c.inventory().Update(c.r.Context(), c.caller(), r, edits...)
	if err != nil {
		return err
	}
	c.forget(done...)
	c.send(http.StatusOK, func(b []byte) []byte { return c.results(b, "update", "updated", r, done) })
	return nil
}

// editsOf are the edits of items. What is wrong with one is the error of its edit, so that
// it is told together with all the others.
func editsOf(items []inventory.Patch, plan func(id string, p inventory.Patch) (apply, error)) ([]inventory.Edit, error) {
	var edits []inventory.Edit
	for _, p := range items {
		e, err := editOf(p, plan)
		if inventory.KindOf(err) != 0 {
			e.Apply = func(inventory.Record) error { return err }
		} else if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// editOf is the edit of one item: its id, the version it is for, and the rest.
func editOf(p inventory.Patch, plan func(id string, p inventory.Patch) (apply, error)) (inventory.Edit, error) {
	e := inventory.Edit{ActionOf: actionOf}
	var err error
	if e.ID, _, err = take[string](p, "id", "must be a string"); err != nil {
		return e, err
	}
	if e.Version, err = takeVersion(p); err != nil {
		return e, err
	}
	e.Apply, err = plan(e.ID, p)
	return e, err
}
