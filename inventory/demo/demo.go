package demo

import (
	"context"
	"encoding/binary"
	"fmt"
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
	// Devices is the number of devices, up to MaxDevices; [Plan] derives the other numbers
	// from it. Default: DefaultDevices.
	Devices int
	// Seed selects one of many networks.
	Seed uint64
	// Now is the newest possible time of any record. Default: the present.
	Now time.Time
	// Progress, if set, is called after each batch with the number of records written so far
	// and in total.
	Progress func(done, total int)
}

// Counts holds numbers of records.
type Counts struct {
	Locations, Racks, Devices, Interfaces, VLANs, Prefixes, Addresses, Links, Metrics, Events int
}

// Total returns the sum of all counts.
func (c Counts) Total() int {
	return c.Locations + c.Racks + c.Devices + c.Interfaces + c.VLANs + c.Prefixes + c.Addresses + c.Links + c.Metrics + c.Events
}

// Plan returns what [Fill] writes for a number of devices: two interfaces for each, a link and
// a metric for every two, an event for every five, a VLAN for every ten. There are 60
// locations from 600 devices up to 150,000, and one for 2,500 devices beyond. Each has a rack, and a
// prefix with 4 to 14 addresses.
func Plan(devices int) Counts {
	devices = max(devices, 0)
	c := Counts{
		Locations: max(min(60, devices/10), devices/2500, min(devices, 1)),
		Devices:   devices, Interfaces: 2 * devices, VLANs: devices / 10,
		Links: devices / 2, Metrics: devices / 2, Events: devices / 5,
	}
	c.Racks, c.Prefixes = c.Locations, c.Locations
	for site := range c.Locations {
		c.Addresses += serviceAddresses(site)
	}
	return c
}

// Fill writes the records of [Plan] and one audit entry to an empty store, in batches of 1,000
// records, each in a transaction of its own. When ctx ends or the store fails, the batches
// written before stay; the counts are those of the records written, also beside an error.
//
// The error is an [*records.Error] of kind Conflict if the store has devices or locations,
// an error that names the invalid option, or the error of the store.
func Fill(ctx context.Context, store records.Store, opts *Options) (Counts, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Devices < 0 || o.Devices > MaxDevices {
		return Counts{}, fmt.Errorf("demo: invalid number of devices %d: use 1 to %d, or 0 for %d", o.Devices, MaxDevices, DefaultDevices)
	}
	if o.Devices == 0 {
		o.Devices = DefaultDevices
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Now = o.Now.UTC().Truncate(time.Microsecond)
	if year := o.Now.Year(); year < 1990 || year > 9999 {
		return Counts{}, fmt.Errorf("demo: invalid Now %s: use a time in the years 1990 to 9999", o.Now.Format(time.RFC3339))
	}
	w := &writer{store: store, Options: o, rng: rand.New(rand.NewPCG(o.Seed, 0x6173686c6172))}
	err := (&network{writer: w, plan: Plan(o.Devices)}).build(ctx)
	return w.written, err
}

// writer collects records and writes them in batches.
type writer struct {
	Options
	store    records.Store
	rng      *rand.Rand
	sequence uint64 // of the ids
	batch    []records.Record
	made     Counts // including the batch
	written  Counts
	checked  bool // the store was empty
}

// add sets the id and the times of a record and writes the batch if it is full.
func (w *writer) add(ctx context.Context, rec records.Record, created time.Time) error {
	*rec.Meta() = records.Base{ID: w.id(created), CreatedAt: created, UpdatedAt: created, Version: 1}
	if w.batch = append(w.batch, rec); len(w.batch) < batchSize {
		return nil
	}
	return w.flush(ctx)
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
func (w *writer) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return ctx.Err()
	}
	err := w.store.Change(ctx, func(tx records.Tx) error {
		if !w.checked {
			if err := checkEmpty(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Create(ctx, w.batch...)
	})
	if err != nil {
		return err
	}
	w.checked = true
	w.written = w.made
	w.batch = w.batch[:0]
	if w.Progress != nil {
		w.Progress(w.written.Total(), Plan(w.Devices).Total())
	}
	return nil
}

func checkEmpty(ctx context.Context, tx records.Tx) error {
	for _, r := range []*records.Resource{records.Of[inventory.Device](tx.Schema()), records.Of[inventory.Location](tx.Schema())} {
		page, err := tx.List(ctx, &records.Query{Resource: r, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Records) > 0 {
			return &records.Error{
				Kind:    records.Conflict,
				Message: "The inventory already has " + r.Name + ": demo data needs an empty inventory",
			}
		}
	}
	return nil
}
