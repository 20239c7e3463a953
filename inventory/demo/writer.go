package demo

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// batchSize is how many records a transaction has. The more there are, the fewer times each
// page of an index is written; ten times as many would be no quicker.
const batchSize = 5000

// writer gathers records and writes them in batches.
type writer struct {
	store    inventory.Store
	progress func(done, total int)
	newID    func() (string, error)
	ids      *ids

	total   int
	batch   []inventory.Record
	written Counts
	begun   bool
}

// add gives a record what the inventory sets, and writes the batch if it is full.
func (w *writer) add(ctx context.Context, rec inventory.Record, created time.Time) error {
	if err := w.stamp(rec, created); err != nil {
		return err
	}
	w.batch = append(w.batch, rec)
	if len(w.batch) < batchSize {
		return nil
	}
	return w.flush(ctx)
}

func (w *writer) stamp(rec inventory.Record, created time.Time) error {
	id, err := "", error(nil)
	if w.newID != nil {
		id, err = w.newID()
	} else {
		id = w.ids.next(created)
	}
	*rec.Meta() = inventory.Base{ID: id, CreatedAt: created, UpdatedAt: created, Version: 1}
	return err
}

// flush writes what has been gathered, in one transaction.
func (w *writer) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return ctx.Err()
	}
	err := w.store.Change(ctx, func(tx inventory.Tx) error {
		if !w.begun {
			if err := empty(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Create(ctx, w.batch...)
	})
	if err != nil {
		return err
	}
	w.begun = true
	for _, rec := range w.batch {
		w.written.count(rec)
	}
	w.batch = w.batch[:0]
	if w.progress != nil {
		w.progress(w.written.Total(), w.total)
	}
	return nil
}

// empty refuses a store that has anything of a network. It looks in the transaction that
// writes the first batch, so that of two calls at once one is refused.
func empty(ctx context.Context, tx inventory.Tx) error {
	for _, r := range []*inventory.Resource{inventory.Of[inventory.Device](), inventory.Of[inventory.Location]()} {
		page, err := tx.List(ctx, &inventory.Query{Resource: r, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Records) > 0 {
			return &inventory.Error{
				Kind:    inventory.Conflict,
				Message: "The inventory has " + r.Name() + " already: demo data need an empty one",
			}
		}
	}
	return nil
}

func (c *Counts) count(rec inventory.Record) {
	switch rec.(type) {
	case *inventory.Location:
		c.Locations++
	case *inventory.Device:
		c.Devices++
	case *inventory.Interface:
		c.Interfaces++
	case *inventory.VLAN:
		c.VLANs++
	case *inventory.Link:
		c.Links++
	case *inventory.Metric:
		c.Metrics++
	case *inventory.Event:
		c.Events++
	}
}
