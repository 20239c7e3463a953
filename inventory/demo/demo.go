package demo

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of Options.Devices.
const (
	DefaultDevices = 10_000
	MaxDevices     = 5_000_000
)

// batchSize is the number of records in a transaction: so few that a slow machine writes them
// within the timeout of a store.
const batchSize = 1000

// Options configures [Fill]. Nil means the defaults.
type Options struct {
	// Devices is the number of devices, up to MaxDevices. The other numbers follow from it: there are
	// about 16 records for each device. Default: DefaultDevices.
	Devices int
	// Seed selects one of many networks.
	Seed uint64
	// Now is the newest possible time of any record. Default: the present.
	Now time.Time
	// Progress, if set, is called after each batch with the number of devices written so far
	// and in total.
	Progress func(done, total int)
}

// Counts holds numbers of records by the names of their resources.
type Counts map[string]int

// Fill writes a network, some of its history and one audit entry for the whole to an empty store, in batches of 1,000 records, each in
// a transaction of its own. When ctx ends or the store fails, the batches written before stay; the
// counts are those of the records written, also beside an error.
//
// There is a site for 50 devices, up to 60 sites, and one for 2,500 devices beyond; an event for
// every five devices, and a series of metrics for every hundred devices of a site.
//
// The error is an [*records.Error] of kind Conflict if the store has devices or locations,
// an error that names the invalid option, or the error of the store.
func Fill(ctx context.Context, store records.Store, opts *Options) (Counts, error) {
	if err := records.CheckStore(store, &inventory.Device{}); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	o := *cmp.Or(opts, &Options{})
	if o.Devices < 0 || o.Devices > MaxDevices {
		return nil, fmt.Errorf("demo: invalid number of devices %d: use 1 to %d, or 0 for %d", o.Devices, MaxDevices, DefaultDevices)
	}
	o.Devices = cmp.Or(o.Devices, DefaultDevices)
	o.Now = cmp.Or(o.Now, time.Now()).UTC().Truncate(time.Microsecond)
	w := &writer{Options: o, ctx: ctx, store: store, rng: rand.New(rand.NewPCG(o.Seed, 0x6173686c6172)), made: Counts{}, written: Counts{}}
	entry, err := records.New(store, nil).AuditEntry(records.Caller{Name: "demo"}, "fill", "inventory", "",
		records.Changes{"devices": {After: int64(o.Devices)}})
	if err != nil {
		return nil, err
	}
	w.err = build(w)
	w.add(entry, o.Now)
	w.flush()
	return w.written, w.err
}

// writer collects records and writes them in batches.
type writer struct {
	Options
	rng      *rand.Rand
	ctx      context.Context
	store    records.Store
	sequence uint64 // of the ids
	batch    []records.Record
	made     Counts // including the batch
	written  Counts
	err      error
}

// add sets the id, the times and the derived fields of a record and writes the batch if it is full. After an
// error it does nothing.
func (w *writer) add(rec records.Record, created time.Time) {
	if w.err != nil {
		return
	}
	r, err := w.store.Schema().Of(rec)
	if err != nil {
		w.err = err
		return
	}
	w.made[r.Name]++
	*rec.Meta() = records.Base{ID: w.id(created), CreatedAt: created, UpdatedAt: created, Version: 1}
	if n, ok := rec.(interface{ Normalize() }); ok {
		n.Normalize()
	}
	if w.batch = append(w.batch, rec); len(w.batch) == batchSize {
		w.flush()
	}
}

// id returns a UUID of version 7 (RFC 9562, section 5.7) for a time in the past, which the
// library does not offer. Within a millisecond 4,096 ids in a row are in ascending order.
func (w *writer) id(at time.Time) string {
	w.sequence++
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|0x7000|w.sequence&0xfff)
	binary.BigEndian.PutUint64(id[8:], w.rng.Uint64()&^(0xc0<<56)|0x80<<56)
	return id.String()
}

// flush writes the batch in one transaction. The first one checks that the store is empty, so
// that one of two concurrent calls fails.
func (w *writer) flush() {
	if w.err != nil || len(w.batch) == 0 {
		return
	}
	w.err = w.store.Change(w.ctx, func(tx records.Tx) error {
		if len(w.written) == 0 {
			if err := checkEmpty(w.ctx, tx); err != nil {
				return err
			}
		}
		return tx.Create(w.ctx, w.batch...)
	})
	if w.err != nil {
		return
	}
	maps.Copy(w.written, w.made)
	w.batch = w.batch[:0]
	if w.Progress != nil {
		w.Progress(w.written["devices"], w.Devices)
	}
}

func checkEmpty(ctx context.Context, tx records.Tx) error {
	for _, r := range []*records.Resource{records.Of[inventory.Device](tx.Schema()), records.Of[inventory.Location](tx.Schema())} {
		if n, err := records.Count(ctx, tx, &records.Query{Resource: r}); err != nil {
			return err
		} else if n > 0 {
			return &records.Error{Kind: records.Conflict, Message: "The inventory already has " + r.Name + ": demo data needs an empty inventory"}
		}
	}
	return nil
}
