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
	Locations, Racks, DeviceTypes, PortTemplates, Devices, Interfaces, VLANs, TaggedVLANs, VRFs, Prefixes, Addresses int
	RearPorts, FrontPorts, Terminations, Links, Cables, CableEnds, Metrics, Events                                   int
}

// of returns the number of records of a type, nil for audit entries.
func (c *Counts) of(rec records.Record) *int {
	switch rec.(type) {
	case *inventory.Location:
		return &c.Locations
	case *inventory.Rack:
		return &c.Racks
	case *inventory.DeviceType:
		return &c.DeviceTypes
	case *inventory.PortTemplate:
		return &c.PortTemplates
	case *inventory.Device:
		return &c.Devices
	case *inventory.Interface:
		return &c.Interfaces
	case *inventory.VLAN:
		return &c.VLANs
	case *inventory.TaggedVLAN:
		return &c.TaggedVLANs
	case *inventory.VRF:
		return &c.VRFs
	case *inventory.Prefix:
		return &c.Prefixes
	case *inventory.Address:
		return &c.Addresses
	case *inventory.RearPort:
		return &c.RearPorts
	case *inventory.FrontPort:
		return &c.FrontPorts
	case *inventory.Termination:
		return &c.Terminations
	case *inventory.Link:
		return &c.Links
	case *inventory.Cable:
		return &c.Cables
	case *inventory.CableEnd:
		return &c.CableEnds
	case *inventory.Metric:
		return &c.Metrics
	case *inventory.Event:
		return &c.Events
	}
	return nil
}

// all returns all numbers.
func (c *Counts) all() []*int {
	return []*int{
		&c.Locations, &c.Racks, &c.DeviceTypes, &c.PortTemplates, &c.Devices, &c.Interfaces, &c.VLANs, &c.TaggedVLANs, &c.VRFs, &c.Prefixes,
		&c.Addresses, &c.RearPorts, &c.FrontPorts, &c.Terminations, &c.Links, &c.Cables, &c.CableEnds, &c.Metrics, &c.Events,
	}
}

// add adds other numbers.
func (c *Counts) add(other Counts) {
	for i, n := range other.all() {
		*c.all()[i] += *n
	}
}

// Total returns the sum of all counts.
func (c Counts) Total() (sum int) {
	for _, n := range c.all() {
		sum += *n
	}
	return sum
}

// Plan returns what [Fill] writes for a number of devices: for instance one event for every five devices, and
// a series of metrics for every hundred devices of a site. There is a site for 50 devices, up to 60 sites, and
// one for 2,500 devices beyond. The cables of the first ten sites are recorded.
func Plan(devices int) Counts {
	d, err := newDesign(devices)
	if err != nil {
		panic(err) // a mistake in the catalog of this package
	}
	return d.count()
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
	d, err := newDesign(o.Devices)
	if err != nil {
		return Counts{}, err
	}
	n := &network{writer: w, design: d, plan: d.count(), ports: make([][2]*circuitPort, len(d.wan))}
	w.total = n.plan.Total()
	err = n.build(ctx)
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
	total    int  // records of the network
	checked  bool // the store was empty
	err      error
}

// add sets the id and the times of a record and writes the batch if it is full. After an error it does nothing.
func (w *writer) add(ctx context.Context, rec records.Record, created time.Time) {
	if w.err != nil {
		return
	}
	if n := w.made.of(rec); n != nil {
		*n++
	}
	*rec.Meta() = records.Base{ID: w.id(created), CreatedAt: created, UpdatedAt: created, Version: 1}
	if w.batch = append(w.batch, rec); len(w.batch) == batchSize {
		w.flush(ctx)
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
func (w *writer) flush(ctx context.Context) {
	if w.err != nil || len(w.batch) == 0 {
		return
	}
	w.err = w.store.Change(ctx, func(tx records.Tx) error {
		if !w.checked {
			if err := checkEmpty(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Create(ctx, w.batch...)
	})
	if w.err != nil {
		return
	}
	w.checked = true
	w.written = w.made
	w.batch = w.batch[:0]
	if w.Progress != nil {
		w.Progress(w.written.Total(), w.total)
	}
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
