package storetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	callers = 8
	rounds  = 10
)

func concurrencyCases() []Case {
	cases := []Case{
		{"concurrency/one of many writers", "of those who change the same version exactly one may succeed (REFERENCE.md, 1.5)", checkOneWriter, false},
		{"concurrency/no lost update", "an update that overwrites another one unseen loses somebody's work", increment(callers, rounds, 1), false},
		{"concurrency/one key", "of those who create records with the same key exactly one may succeed", checkOneKey, false},
		{"concurrency/no orphans", "an interface must not outlive its device, even if it is created at that moment", checkOrphans, false},
		{"concurrency/deadlocks", "bulk calls that change the same records in different orders must all return", increment(4, 5, 3), false}, // few, since a database may take its time to detect a deadlock
		{"concurrency/readers", "a page and its total must show one state, and pages show a record that lasts exactly once", checkReaders, false},
		{"concurrency/deadline", "a caller must not wait for others after its deadline", checkDeadline, false},
	}
	for i, c := range cases {
		cases[i].test = func(f *fixture) {
			c.test(f)
			f.reload()
		}
	}
	return cases
}

// make makes a call in a transaction of its own, which the model does not follow.
func (f *fixture) make(c call) error {
	return f.store.Change(f.ctx, func(tx records.Tx) error { return c.store(f.ctx, tx) })
}

// current returns the stored version of a record.
func (f *fixture) current(r *records.Resource, n int) records.Record {
	rec, err := f.store.Get(f.ctx, r, id(r, n))
	must("get", err)
	return rec
}

// oneSucceeds has all callers make a call, and requires that one of them succeeds and the
// others get an error.
func (f *fixture) oneSucceeds(want *records.Error, calls func(caller int) call) {
	var succeeded atomic.Int64
	concurrently(callers, func(caller int) {
		c := calls(caller)
		if err := f.make(c); err != nil {
			refused(c.what, err, want)
		} else {
			succeeded.Add(1)
		}
	})
	if n := succeeded.Load(); n != 1 {
		fail("%s: %d of %d callers succeed; want one", calls(0).what, n, callers)
	}
}

func checkOneWriter(f *fixture) {
	r := records.Of[inventory.Location](schema)
	f.apply(create(full(r, 1)))
	for version := range int64(rounds) {
		f.oneSucceeds(records.Outdated(r), func(int) call { return update(at(full(r, 1), version+2)) })
		same("get", f.current(r, 1), at(full(r, 1), version+2))
	}
	f.oneSucceeds(records.Absent(r), func(int) call { return remove(at(full(r, 1), rounds+1)) })
}

// increment returns a case in which callers update some records in one transaction, half of
// them in the opposite order, and repeat it until no other one has changed them first.
func increment(callers, rounds, width int) func(f *fixture) {
	return func(f *fixture) {
		r := records.Of[inventory.Location](schema)
		for n := range width {
			f.apply(create(full(r, n)))
		}
		concurrently(callers, func(caller int) {
			for range rounds {
				err := error(records.Outdated(r))
				for records.KindOf(err) == records.Stale {
					err = f.store.Change(f.ctx, func(tx records.Tx) error {
						for n := range width {
							if caller%2 == 1 {
								n = width - 1 - n
							}
							rec, err := tx.Get(f.ctx, r, id(r, n))
							if err == nil {
								err = tx.Update(f.ctx, at(rec, rec.Meta().Version+1), rec.Meta().Version-1)
							}
							if err != nil {
								return err
							}
						}
						return nil
					})
				}
				must("update records that others update", err)
			}
		})
		for n := range width {
			same("get", f.current(r, n), at(full(r, n), int64(callers*rounds+1)))
		}
	}
}

func checkOneKey(f *fixture) {
	r := records.Of[inventory.User](schema)
	key := r.Uniques()[0]
	for round := range rounds {
		f.oneSucceeds(records.Duplicate(r, key), func(caller int) call {
			return create(taking(full(r, 100+round*callers+caller), full(r, round+1), key.Fields...))
		})
	}
	f.reload()
	if n := len(f.model.of(r)); n != rounds {
		fail("there are %d records for %d keys", n, rounds)
	}
}

// checkOrphans creates interfaces and events of devices while the devices are deleted.
func checkOrphans(f *fixture) {
	devices, interfaces, events := records.Of[inventory.Device](schema), records.Of[inventory.Interface](schema), records.Of[inventory.Event](schema)
	for round := range rounds {
		d := minimal(devices, round)
		must("create", f.make(create(d)))
		concurrently(callers, func(caller int) {
			if caller == 0 {
				must("delete", f.make(remove(d)))
				return
			}
			for _, r := range []*records.Resource{interfaces, events} {
				rec := minimal(r, 100+round*callers+caller)
				field, _ := r.Field("device_id")
				field.Set(rec, d.Meta().ID)
				if err := f.make(create(rec)); err != nil {
					refused("create for a device that is deleted", err, records.Dangling(r, field))
				}
			}
		})
	}
	f.reload()
	if left := slices.Concat(f.model.of(devices), f.model.of(interfaces)); len(left) > 0 {
		fail("%s outlived their devices", names(left...))
	}
	for _, rec := range f.model.of(events) {
		if rec.(*inventory.Event).DeviceID != nil {
			fail("%s refers to a device that does not exist", names(rec))
		}
	}
}

// whileWriting has three writers write a number of times, and calls read until they are done.
// A writer calls runtime.Gosched before it undoes what it has done: on one processor the
// reader would not see it.
func whileWriting(write func(writer int), read func()) {
	const writers = 3
	var writing atomic.Int64
	writing.Store(writers)
	concurrently(writers+1, func(caller int) {
		if caller < writers {
			defer writing.Add(-1)
			for range rounds / 2 {
				write(caller)
			}
			return
		}
		for more := true; more; {
			more = writing.Load() > 0
			read()
		}
	})
}

// checkReaders reads while pairs of records are created and deleted between those that last.
func checkReaders(f *fixture) {
	r := records.Of[inventory.Location](schema)
	city, _ := r.Field("city")
	location := func(n int) records.Record {
		l := minimal(r, n).(*inventory.Location)
		l.City = string(rune('a' + n%5))
		return l
	}
	var lasting []records.Record
	for n := range many {
		lasting = append(lasting, location(2*n))
	}
	f.apply(create(lasting...))
	sort := []records.SortKey{{Field: city, Desc: true}}
	want := ids((&records.Query{Resource: r, Sort: sort}).Select(cloned(lasting)).Records)
	list := func(q records.Query) *records.Page {
		page, err := f.store.List(f.ctx, &q)
		must("list", err)
		return page
	}
	whileWriting(func(writer int) {
		for half := range 2 {
			n := 2*(6*writer+3*half) + 1
			must("create a pair", f.make(create(location(n), location(n+2))))
			runtime.Gosched()
			must("delete a pair", f.store.Change(f.ctx, func(tx records.Tx) error {
				return errors.Join(tx.Delete(f.ctx, r, id(r, n), 1, nil), tx.Delete(f.ctx, r, id(r, n+2), 1, nil))
			}))
		}
	}, func() {
		page := list(records.Query{Resource: r, Count: true})
		if n := int64(len(page.Records)); page.Total != n || n%2 != 0 {
			fail("a reader sees %d records and a total of %d; want equal, even numbers", n, page.Total)
		}
		if page = list(records.Query{Resource: r, Count: true, Limit: 1}); page.Total%2 != 0 || !page.More || len(page.Records) != 1 {
			fail("a reader sees %d records, a total of %d, and More is %t", len(page.Records), page.Total, page.More)
		}
		var seen []string
		for q := (records.Query{Resource: r, Sort: sort, Limit: 5}); ; q.After = q.PlaceOf(last(page.Records)) {
			page = list(q)
			seen = append(seen, ids(page.Records)...)
			if !page.More {
				break
			}
		}
		if got := slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return !slices.Contains(want, id) }); !slices.Equal(got, want) {
			fail("the pages have %v of the records that last; want %v", got, want)
		}
		slices.Sort(seen)
		if once := slices.Compact(slices.Clone(seen)); len(once) != len(seen) {
			fail("the pages overlap: %v", seen)
		}
	})
}

// checkDeadline updates a record that another transaction has locked.
func checkDeadline(f *fixture) {
	r := records.Of[inventory.Location](schema)
	f.apply(create(full(r, 1)))
	returned := make(chan error, 1)
	must("a slow transaction", f.store.Change(f.ctx, func(tx records.Tx) error {
		if err := tx.Update(f.ctx, at(full(r, 1), 2), 1); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(f.ctx, 10*time.Millisecond)
		defer cancel()
		go func() {
			returned <- f.store.Change(ctx, func(tx records.Tx) error { return tx.Update(ctx, at(full(r, 1), 2), 1) })
		}()
		select {
		case err := <-returned:
			if err == nil {
				fail("two transactions have changed the same version")
			}
		case <-time.After(time.Minute):
			fail("a transaction still waits for another one, long after its deadline")
		}
		return nil
	}))
	same("get", f.current(r, 1), at(full(r, 1), 2))
}
