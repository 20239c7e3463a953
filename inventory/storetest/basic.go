package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

func basicCases() []Case {
	return []Case{
		{"basic/keeps every field", "a record comes back as it was given, or people lose what they sent", checkKeeps, false},
		{"basic/keeps what is empty", "what a record does not have must not come to be, and null is not zero", checkBare, false},
		{"basic/several at once", "a bulk call may bring records of all resources, those that are referred to first", checkSeveral, false},
		{"basic/absent", "an id that is not there is an answer and not a failure", checkAbsent, false},
		{"basic/update", "a change replaces all of a record and nothing else", checkUpdate, false},
		{"basic/delete", "what is deleted is gone, and nothing else is", checkDelete, false},
		{"basic/copies", "what callers do to a record afterwards must not change what is kept", checkCopies, false},
		{"basic/canceled", "a call whose caller has gone must not change anything", checkCanceled, false},
	}
}

func checkKeeps(p *probe) {
	all := p.world()
	p.has(all...)
	for _, r := range inventory.StoredResources() {
		p.holds(r, generationOf(r)...)
	}
}

func checkBare(p *probe) {
	for _, r := range inventory.StoredResources() {
		var all []inventory.Record
		for n := range generation {
			rec := bare(r, n+1)
			p.create(rec)
			p.has(rec)
			all = append(all, rec)
		}
		p.holds(r, all...)
	}
}

func checkSeveral(p *probe) {
	p.create() // nothing at all
	var all []inventory.Record
	for _, r := range inventory.StoredResources() {
		all = append(all, generationOf(r)...)
	}
	p.create(all...)
	p.has(all...)
}

func checkAbsent(p *probe) {
	for _, r := range inventory.StoredResources() {
		p.holds(r)
		p.hasNot(full(r, 1))
	}
	p.world()
	for _, r := range inventory.StoredResources() {
		other := full(r, generation)
		other.Meta().ID = id(r, generation+1)
		p.hasNot(other)
		refused("update of what is not there", p.tryUpdate(other, 1), inventory.Absent(r))
		refused("delete of what is not there", p.tryRemove(other, 1), inventory.Absent(r))
	}
}

// again is a record with the next version.
func again(rec inventory.Record, version int64) inventory.Record {
	rec.Meta().Version = version
	return rec
}

func checkUpdate(p *probe) {
	all := p.world()
	for _, r := range inventory.StoredResources() {
		if r.Kind() == "link" {
			continue // whose ends are all that it needs
		}
		less := again(bare(r, 1), 2)
		p.update(less)
		p.has(less)
		p.update(again(full(r, 1), 3))
		p.has(again(full(r, 1), 3))
	}
	for _, rec := range all {
		if rec.Meta().ID != id(inventory.ResourceOf(rec), 1) {
			p.has(rec)
		}
	}
}

func checkDelete(p *probe) {
	all := p.world()
	for i := len(all) - 1; i >= 0; i-- { // nothing refers to the last ones
		p.remove(all[i])
		p.hasNot(all[i])
		refused("delete once more", p.tryRemove(all[i], 1), inventory.Absent(inventory.ResourceOf(all[i])))
		if i%generation == 0 {
			p.has(all[:i]...)
		}
	}
}

// deface changes a record through all that can be shared.
func deface(rec inventory.Record) {
	for _, f := range inventory.ResourceOf(rec).Fields() {
		switch v := f.Pointer(rec).(type) {
		case *[]string:
			for i := range *v {
				(*v)[i] = "defaced"
			}
		case *inventory.Changes:
			if *v != nil {
				(*v)["defaced"] = inventory.Change{}
			}
		case **string:
			defacePart(v, "defaced")
		case **int64:
			defacePart(v, 77)
		case **float64:
			defacePart(v, 77)
		case **time.Time:
			defacePart(v, time.Time{})
		}
	}
	rec.Meta().Version = 77
}

func defacePart[T any](part **T, with T) {
	if *part != nil {
		**part = with
	}
}

func checkCopies(p *probe) {
	for _, r := range inventory.StoredResources() {
		for n := range generation {
			given := full(r, n+1)
			p.create(given)
			deface(given)
		}
	}
	for _, r := range inventory.StoredResources() {
		deface(p.get(full(r, 1)))
		for _, rec := range p.list(&inventory.Query{Resource: r}).Records {
			deface(rec)
		}
		p.change("read and deface", func(tx inventory.Tx) error {
			rec, err := tx.Get(p.ctx, r, id(r, 1))
			if err != nil {
				return err
			}
			deface(rec)
			return nil
		})
		given := again(full(r, 1), 2)
		p.update(given)
		deface(given)
		p.holds(r, append([]inventory.Record{again(full(r, 1), 2)}, generationOf(r)[1:]...)...)
	}
}

func checkCanceled(p *probe) {
	r := inventory.Of[inventory.Location]()
	p.create(full(r, 1))
	gone, cancel := context.WithCancel(p.ctx)
	cancel()
	_, getErr := p.store.Get(gone, r, id(r, 1))
	_, listErr := p.store.List(gone, &inventory.Query{Resource: r})
	change := func(f func(inventory.Tx) error) error { return p.store.Change(gone, f) }
	for what, err := range map[string]error{
		"get": getErr, "list": listErr,
		"create": change(func(tx inventory.Tx) error { return tx.Create(gone, full(r, 2)) }),
		"update": change(func(tx inventory.Tx) error { return tx.Update(gone, again(full(r, 1), 2), 1) }),
		"delete": change(func(tx inventory.Tx) error { return tx.Delete(gone, r, id(r, 1), 1) }),
	} {
		if !errors.Is(err, context.Canceled) {
			fail("%s: the error is %v, although the context has ended", what, err)
		}
	}
	p.holds(r, full(r, 1))
	cancelWithin(p, r)
}

// cancelWithin ends a context in the middle of a transaction.
func cancelWithin(p *probe, r *inventory.Resource) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var after error
	err := p.store.Change(ctx, func(tx inventory.Tx) error {
		if err := tx.Create(ctx, full(r, 2)); err != nil {
			return err
		}
		cancel()
		after = tx.Create(ctx, full(r, 3))
		return nil
	})
	if err == nil || after == nil {
		fail("a transaction whose context ends: the call gives %w, and the whole %w", after, err)
	}
	p.holds(r, full(r, 1))
	must("a transaction after one that was given up", p.tryCreate(full(r, 2)))
}
