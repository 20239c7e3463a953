package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// The bounds of Options.Devices.
const (
	DefaultDevices = 10_000
	MaxDevices     = 5_000_000
)

// Options are the choices of [Fill]. Nil means the defaults.
type Options struct {
	// Devices is how many there will be, up to MaxDevices. The rest follows: see [Plan].
	// Default: DefaultDevices.
	Devices int
	// Seed chooses one of many networks.
	Seed uint64
	// Now is when the network is looked at: everything in it has happened before.
	// Default: the present.
	Now time.Time
	// NewID makes the ids, UUIDs in lower case. Default: UUIDs of version 7 that have the
	// time at which the record is said to have been created.
	NewID func() (string, error)
	// Progress is called after each batch with the number of records that are written, and
	// that there will be. Default: nobody is told.
	Progress func(done, total int)
}

// Counts are numbers of records.
type Counts struct {
	Locations, Devices, Interfaces, VLANs, Links, Metrics, Events int
}

// Total is the number of all of them.
func (c Counts) Total() int {
	return c.Locations + c.Devices + c.Interfaces + c.VLANs + c.Links + c.Metrics + c.Events
}

// Plan is what [Fill] writes for a number of devices: two interfaces for each, a link and
// a metric for every two, an event for every five, a VLAN for every ten. There are 60
// locations from 600 devices up to 150,000, and one for 2,500 devices beyond.
func Plan(devices int) Counts {
	devices = max(devices, 0)
	return Counts{
		Locations: max(min(60, devices/10), devices/2500, min(devices, 1)),
		Devices:   devices, Interfaces: 2 * devices, VLANs: devices / 10,
		Links: devices / 2, Metrics: devices / 2, Events: devices / 5,
	}
}

// Fill writes a network to an empty store: the records of [Plan], and one entry of
// the audit log. They are written 1,000 at a time, each batch in a transaction of its own, so
// that what is there when ctx ends, or the store fails, is whole batches. The counts are those
// of the records that have been written, also beside an error.
//
// The error is an [*inventory.Error] of kind Conflict for a store that has devices or
// locations already; one that names the setting that is wrong; or that of the store.
func Fill(ctx context.Context, store inventory.Store, opts *Options) (Counts, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Devices < 0 || o.Devices > MaxDevices {
		return Counts{}, fmt.Errorf("demo: %d devices: there must be from 1 to %d, or 0 for %d", o.Devices, MaxDevices, DefaultDevices)
	}
	if o.Devices == 0 {
		o.Devices = DefaultDevices
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Now = o.Now.UTC().Truncate(time.Microsecond)
	if year := o.Now.Year(); year < 1990 || year > 9999 {
		return Counts{}, fmt.Errorf("demo: Now is %s: it must be of the years 1990 to 9999", o.Now.Format(time.RFC3339))
	}
	n := &network{
		writer: &writer{store: store, progress: o.Progress, newID: o.NewID, ids: newIDs()},
		rng:    rand.New(rand.NewPCG(o.Seed, 0x6173686c6172)),
		now:    o.Now, seed: o.Seed, plan: Plan(o.Devices),
	}
	n.total = n.plan.Total()
	err := n.build(ctx)
	return n.written, err
}
