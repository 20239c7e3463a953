package storetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

const (
	callers = 8
	rounds  = 10
)

func concurrencyCases() []Case {
	return []Case{
		{"concurrency/one of many writers", "of those who change the same version exactly one may succeed (reference, ruling 19)", checkOneWriter, false},
		{"concurrency/no lost change", "a change that is overwritten unseen is work that somebody loses", checkNoLostChange, false},
		{"concurrency/one key", "of those who take a key at once exactly one may succeed", checkOneKey, false},
		{"concurrency/children of the dead", "a device that goes must not leave an interface that came at that moment", checkOrphans, false},
		{"concurrency/crosswise", "bulk calls that touch the same records in another order must all come to an end", checkCrosswise, false},
		{"concurrency/page and total", "a page and its total must be of one moment, and a transaction is whole or not there", checkMoment, false},
		{"concurrency/pages between writers", "what is there all the time is seen exactly once, whatever comes and goes", checkWalkers, false},
		{"concurrency/waits no longer than told", "a caller who has gone must not be held up by others", checkImpatience, false},
	}
}

func checkOneWriter(p *probe) {
	r := inventory.Of[inventory.Location]()
	p.create(full(r, 1))
	for version := int64(1); version <= rounds; version++ {
		var won atomic.Int64
		together(callers, func(int) {
			switch err := p.tryUpdate(again(full(r, 1), version+1), version); {
			case err == nil:
				won.Add(1)
			default:
				refused("update of a version that another has changed", err, inventory.Outdated(r))
			}
		})
		if won.Load() != 1 {
			fail("%d of %d writers have changed one version", won.Load(), callers)
		}
		p.has(again(full(r, 1), version+1))
	}
	var won atomic.Int64
	together(callers, func(int) {
		switch err := p.tryRemove(full(r, 1), rounds+1); {
		case err == nil:
			won.Add(1)
		default:
			refused("delete of what another has deleted", err, inventory.Absent(r))
		}
	})
	if won.Load() != 1 {
		fail("%d of %d have deleted one record", won.Load(), callers)
	}
}

// checkNoLostChange lets all callers count in one record.
func checkNoLostChange(p *probe) {
	r := inventory.Of[inventory.VLAN]()
	v := bare(r, 1).(*inventory.VLAN)
	v.VLANID = 1
	p.create(v)
	together(callers, func(int) {
		for range rounds {
			p.untilCurrent(func(tx inventory.Tx) error {
				v, err := inventory.Get[inventory.VLAN](p.ctx, tx, v.ID)
				if err != nil {
					return err
				}
				v.VLANID++
				v.Version++
				return tx.Update(p.ctx, v, v.Version-1)
			})
		}
	})
	if v := p.get(v).(*inventory.VLAN); v.VLANID != callers*rounds+1 || v.Version != callers*rounds+1 {
		fail("%d changes have made %d of 1, and version %d", callers*rounds, v.VLANID, v.Version)
	}
}

// untilCurrent makes a transaction, again as long as somebody comes before.
func (p *probe) untilCurrent(f func(tx inventory.Tx) error) {
	err := p.store.Change(p.ctx, f)
	for inventory.KindOf(err) == inventory.Stale {
		err = p.store.Change(p.ctx, f)
	}
	must("a change among others", err)
}

func checkOneKey(p *probe) {
	r := inventory.Of[inventory.User]()
	key := r.Uniques()[0]
	for round := range rounds {
		var won atomic.Int64
		together(callers, func(caller int) {
			rec := taking(full(r, 100+round*callers+caller), full(r, round+1), key.Fields...)
			switch err := p.tryCreate(rec); {
			case err == nil:
				won.Add(1)
			default:
				refused("create with a key that is taken", err, inventory.Duplicate(r, key))
			}
		})
		if won.Load() != 1 {
			fail("%d of %d have taken one key", won.Load(), callers)
		}
	}
	if page := p.list(&inventory.Query{Resource: r, Count: true}); page.Total != rounds || len(page.Records) != rounds {
		fail("%d keys have come to %d records, and a total of %d", rounds, len(page.Records), page.Total)
	}
}

// checkOrphans creates interfaces and events of devices that are being deleted.
func checkOrphans(p *probe) {
	devices, interfaces, events := inventory.Of[inventory.Device](), inventory.Of[inventory.Interface](), inventory.Of[inventory.Event]()
	for round := range rounds {
		d := bare(devices, round)
		p.create(d)
		on := d.Meta().ID
		together(callers, func(caller int) {
			if caller == 0 {
				p.remove(d)
				return
			}
			port := bare(interfaces, 100+round*callers+caller).(*inventory.Interface)
			event := bare(events, 100+round*callers+caller).(*inventory.Event)
			port.DeviceID, event.DeviceID = on, &on
			for _, rec := range []inventory.Record{port, event} {
				f, _ := inventory.ResourceOf(rec).Field("device_id")
				if err := p.tryCreate(rec); err != nil {
					refused("create for a device that goes", err, inventory.Dangling(inventory.ResourceOf(rec), f))
				}
			}
		})
	}
	p.holds(devices)
	p.holds(interfaces)
	device, _ := events.Field("device_id")
	q := &inventory.Query{Resource: events, Filters: []inventory.Filter{{Field: device, Op: inventory.IsNull, Value: false}}}
	if left := p.list(q).Records; len(left) > 0 {
		fail("%s are of devices that are gone", names(left))
	}
}

// checkCrosswise makes few changes, since a database may take its time to see that two wait
// for each other.
func checkCrosswise(p *probe) {
	const width, pairs, rounds = 3, 2, 5
	r := inventory.Of[inventory.Location]()
	for n := range width {
		p.create(full(r, n))
	}
	together(2*pairs, func(caller int) {
		for range rounds {
			p.untilCurrent(func(tx inventory.Tx) error {
				for n := range width {
					if caller%2 == 1 {
						n = width - 1 - n
					}
					rec, err := tx.Get(p.ctx, r, id(r, n))
					if err != nil {
						return err
					}
					if err := tx.Update(p.ctx, again(rec, rec.Meta().Version+1), rec.Meta().Version-1); err != nil {
						return err
					}
				}
				return nil
			})
		}
	})
	for n := range width {
		p.has(again(full(r, n), 2*pairs*rounds+1))
	}
}

// among runs writers a number of times each, and the reader over and over until they are
// done. A writer lets others run (runtime.Gosched) before it takes back what it has done: on
// one processor the reader would else see nothing of it.
func among(writers int, write func(writer, round int), read func()) {
	done := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(writers))
	together(writers+1, func(caller int) {
		if caller < writers {
			defer func() {
				if left.Add(-1) == 0 {
					close(done)
				}
			}()
			for round := range rounds / 2 {
				write(caller, round)
			}
			return
		}
		for {
			read()
			select {
			case <-done:
				return
			default:
			}
		}
	})
}

// checkMoment has writers who add and remove records by twos.
func checkMoment(p *probe) {
	r := inventory.Of[inventory.Metric]()
	device := bare(inventory.Of[inventory.Device](), 1)
	p.create(device)
	two := func(writer int) []inventory.Record {
		all := []inventory.Record{bare(r, 2*writer), bare(r, 2*writer+1)}
		for _, rec := range all {
			rec.(*inventory.Metric).DeviceID = device.Meta().ID
		}
		return all
	}
	const writers = 3
	among(writers, func(writer, _ int) {
		p.create(two(writer)...)
		runtime.Gosched()
		p.change("delete two", func(tx inventory.Tx) error {
			return errors.Join(tx.Delete(p.ctx, r, id(r, 2*writer), 1), tx.Delete(p.ctx, r, id(r, 2*writer+1), 1))
		})
	}, func() {
		page := p.list((&inventory.Query{Resource: r, Count: true}).Where("device_id", device.Meta().ID))
		if n := int64(len(page.Records)); page.Total != n || n%2 != 0 {
			fail("a reader sees %d records and a total of %d; want even numbers that are the same", n, page.Total)
		}
		page = p.list(&inventory.Query{Resource: r, Count: true, Limit: 1})
		if page.Total%2 != 0 || page.More != (page.Total > 1) || len(page.Records) != int(min(page.Total, 1)) {
			fail("a reader sees %d records, a total of %d and that there are more is %t", len(page.Records), page.Total, page.More)
		}
	})
}

// checkWalkers reads pages by cursors while records come and go everywhere in the order.
func checkWalkers(p *probe) {
	r := inventory.Of[inventory.Location]()
	city, _ := r.Field("city")
	place := func(n int) inventory.Record {
		l := bare(r, n).(*inventory.Location)
		l.City = string(rune('a' + n%5))
		return l
	}
	q := &inventory.Query{Resource: r, Sort: []inventory.SortKey{{Field: city, Desc: true}}}
	var lasting []inventory.Record
	for n := range herd {
		lasting = append(lasting, place(2*n))
	}
	p.create(lasting...)
	want := ids(q.Select(cloned(lasting)).Records)
	const writers = 3
	among(writers, func(writer, _ int) {
		for half := range 2 {
			var passing []inventory.Record
			for n := writer + half*writers; n < herd; n += 2 * writers {
				passing = append(passing, place(2*n+1))
			}
			p.create(passing...)
			runtime.Gosched()
			p.removeAll(passing)
		}
	}, func() {
		seen := p.walkers(q)
		if got := slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return !slices.Contains(want, id) }); !slices.Equal(got, want) {
			fail("pages between writers have %v of what was there all the time; want %v", got, want)
		}
		slices.Sort(seen)
		if once := slices.Compact(slices.Clone(seen)); len(once) != len(seen) {
			fail("pages between writers overlap: %v", seen)
		}
	})
}

// walkers are the ids on all pages, one after the other.
func (p *probe) walkers(of *inventory.Query) (seen []string) {
	q := *of
	q.Limit = 5
	for {
		page := p.list(&q)
		seen = append(seen, ids(page.Records)...)
		if !page.More {
			return seen
		}
		q.After = q.PlaceOf(last(page.Records))
	}
}

// checkImpatience changes a record that a transaction holds which does not end.
func checkImpatience(p *probe) {
	r := inventory.Of[inventory.Location]()
	p.create(full(r, 1))
	returned := make(chan error, 1)
	p.change("a transaction that takes its time", func(tx inventory.Tx) error {
		if err := tx.Update(p.ctx, again(full(r, 1), 2), 1); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Millisecond)
		defer cancel()
		go func() {
			returned <- p.store.Change(ctx, func(tx inventory.Tx) error {
				return tx.Update(ctx, again(full(r, 1), 2), 1)
			})
		}()
		select {
		case err := <-returned:
			if err == nil {
				fail("two transactions have changed the same version")
			}
		case <-time.After(time.Minute):
			fail("a transaction still waits for another one, long after its context has ended")
		}
		return nil
	})
	p.has(again(full(r, 1), 2))
}
