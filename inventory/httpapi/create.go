package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/ashlar-go/ashlar/inventory"
)

// createAny is POST of one record, or of an array of them.
func (c *call) createAny(r *inventory.Resource) error {
	body, err := c.peek()
	if err != nil {
		return err
	}
	if isArray(body) {
		return c.createMany(r, body)
	}
	return c.createOne(r, body)
}

func (c *call) createOne(r *inventory.Resource, body []byte) error {
	p, err := c.readOne()
	if err != nil {
		return err
	}
	body = essence(r, body, p)
	rec, err := draft(r, p)
	if err != nil {
		return err
	}
	if u, ok := rec.(*inventory.User); ok {
		if err := c.newUser(u); err != nil {
			return err
		}
	}
	return c.once(body, func(then then) (*answer, error) {
		made := func() *answer {
			return &answer{
				status: http.StatusCreated, id: rec.Meta().ID, tag: tagOf(rec),
				body: c.encoders[r].append(nil, rec),
			}
		}
		err := c.inventory().BeforeCommit(then(made)).Create(c.r.Context(), c.caller(), rec)
		return made(), err
	})
}

// createMany creates all or none.
func (c *call) createMany(r *inventory.Resource, body []byte) error {
	items, err := c.readMany()
	if err != nil {
		return err
	}
	body = essence(r, body, items...)
	records, err := c.drafts(r, items)
	if err != nil {
		return err
	}
	return c.once(body, func(then then) (*answer, error) {
		made := func() *answer {
			return &answer{status: http.StatusCreated, body: c.results(nil, "create", "created", r, records)}
		}
		err := c.inventory().BeforeCommit(then(made)).Create(c.r.Context(), c.caller(), records...)
		return made(), err
	})
}

// essence is what of a body a request with an Idempotency-Key is known again by. That
// of passwords would be a fast hash of them in the store, so they don't count.
func essence(r *inventory.Resource, body []byte, items ...inventory.Patch) []byte {
	if r != inventory.Of[inventory.User]() {
		return body
	}
	without := make([]inventory.Patch, len(items))
	for i, item := range items {
		without[i] = maps.Clone(item)
		delete(without[i], "password")
	}
	body, _ = json.Marshal(without) // it was JSON before
	return body
}

// drafts are the records that objects describe. The error has every one that is wrong.
func (c *call) drafts(r *inventory.Resource, items []inventory.Patch) ([]inventory.Record, error) {
	if r == inventory.Of[inventory.User]() {
		if err := fewPasswords(items); err != nil {
			return nil, err
		}
	}
	var wrong []inventory.ItemError
	records := make([]inventory.Record, len(items))
	for i, item := range items {
		rec, err := draft(r, item)
		if err == nil {
			// Here as well as when it is created, to tell of both kinds of mistakes at once.
			err = inventory.CheckNew(inventory.Clone(rec))
		}
		if u, ok := rec.(*inventory.User); ok && err == nil {
			err = c.newUser(u)
		}
		if wrong, err = inventory.AppendItemError(wrong, i, "", err); err != nil {
			return nil, err
		}
		records[i] = rec
	}
	return records, inventory.JoinItemErrors(r, wrong, len(items))
}

// results is the body of a call with several items (reference, ruling 2): the records in
// the order of the items.
func (c *call) results(b []byte, verb, done string, r *inventory.Resource, records []inventory.Record) []byte {
	b = appendBulk(b, verb, done, len(records))
	b = c.encoders[r].appendAll(b, records)
	return append(b, '}')
}

// appendBulk is its beginning, up to the results.
func appendBulk(b []byte, verb, done string, n int) []byte {
	b = append(b, `{"status":"success","message":"Bulk `...)
	b = append(b, verb...)
	b = append(b, ` completed successfully","`...)
	b = append(b, done...)
	b = append(b, `":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, `,"results":`...)
}
