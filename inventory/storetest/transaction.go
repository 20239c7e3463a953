package storetest

import (
	"errors"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

func transactionCases() []Case {
	return []Case{
		{"transaction/sees itself", "a change is made from what the transaction has already done", checkSeesItself, false},
		{"transaction/undone by an error", "a change whose audit entry failed has not happened", checkUndoneByError, false},
		{"transaction/undone by a panic", "a defect in a program must not leave half a change", checkUndoneByPanic, false},
		{"transaction/keeps its error", "the kind of an error decides what a client is told", checkKeepsError, false},
		{"transaction/hidden until it ends", "what may yet be undone must not be seen", checkNoDirtyReads, false},
	}
}

// steps does a bit of everything in a world, and leaves it with one location less and a
// device more.
func (p *probe) steps(tx inventory.Tx) {
	locations, devices := inventory.Of[inventory.Location](), inventory.Of[inventory.Device]()
	wanted := another(devices).(*inventory.Device) // which is at location 1
	must("create", tx.Create(p.ctx, wanted))
	must("update", tx.Update(p.ctx, again(full(devices, 2), 2), 1))
	must("delete", tx.Delete(p.ctx, locations, id(locations, 1), 1))
	rec, err := tx.Get(p.ctx, devices, id(devices, spare))
	must("get", err)
	wanted.LocationID, wanted.Version, wanted.UpdatedAt = nil, rec.Meta().Version, rec.Meta().UpdatedAt
	same("get what has lost a reference", rec, wanted)
	rec, err = tx.Get(p.ctx, devices, id(devices, 2))
	must("get", err)
	same("get what was updated", rec, again(full(devices, 2), 2))
	counts := map[*inventory.Resource]int64{locations: generation - 1, devices: generation + 1}
	for r, want := range counts {
		page, err := tx.List(p.ctx, &inventory.Query{Resource: r, Count: true})
		must("list", err)
		if page.Total != want || int64(len(page.Records)) != want {
			fail("a transaction sees %d %s, and a total of %d; want %d", len(page.Records), r.Name(), page.Total, want)
		}
	}
	q := &inventory.Query{Resource: devices, Count: true, Limit: 1}
	page, err := tx.List(p.ctx, q.Where("hostname", wanted.Hostname))
	must("list", err)
	samePage("what a transaction has created", page, &inventory.Page{Records: []inventory.Record{wanted}, Total: 1})
}

func checkSeesItself(p *probe) {
	p.world()
	p.change("a bit of everything", func(tx inventory.Tx) error { p.steps(tx); return nil })
	locations, devices := inventory.Of[inventory.Location](), inventory.Of[inventory.Device]()
	p.hasNot(full(locations, 1))
	p.has(again(full(devices, 2), 2))
	p.get(another(devices))
}

// errOwn is what a transaction ends with when it wants to.
const errOwn = own("the error of a transaction")

type own string

func (e own) Error() string { return string(e) }

func checkUndoneByError(p *probe) {
	all := p.world()
	err := p.store.Change(p.ctx, func(tx inventory.Tx) error { p.steps(tx); return errOwn })
	if !errors.Is(err, errOwn) {
		fail("the error of a transaction is %w; want its own", err)
	}
	p.intact(all)
}

// intact demands that a world is as it was, and can change.
func (p *probe) intact(all []inventory.Record) {
	p.has(all...)
	for _, r := range inventory.StoredResources() {
		p.holds(r, generationOf(r)...)
	}
	p.create(another(inventory.Of[inventory.Device]()))
}

func checkUndoneByPanic(p *probe) {
	all := p.world()
	func() {
		defer func() {
			if r := recover(); r != any(errOwn) {
				panic(r)
			}
		}()
		err := p.store.Change(p.ctx, func(tx inventory.Tx) error { p.steps(tx); panic(errOwn) })
		fail("a transaction that panics returns %w", err)
	}()
	p.intact(all)
}

func checkKeepsError(p *probe) {
	r := inventory.Of[inventory.Device]()
	for _, want := range []*inventory.Error{
		inventory.Absent(r), inventory.PermissionDenied(), {Kind: inventory.Invalid, Message: "mine", Fields: []inventory.FieldError{{Field: "a", Reason: "b"}}},
	} {
		err := p.store.Change(p.ctx, func(inventory.Tx) error { return want })
		refused("a transaction that returns an *Error", err, want)
	}
}

// checkNoDirtyReads reads while a transaction goes on that will be undone. Where readers
// wait for it, it does not wait for them.
func checkNoDirtyReads(p *probe) {
	const patience = 20 * time.Millisecond
	all := p.world()
	readers := make(chan error, 1)
	err := p.store.Change(p.ctx, func(tx inventory.Tx) error {
		p.steps(tx)
		go func() {
			readers <- failureOf(func() {
				p.has(all...)
				p.holds(inventory.Of[inventory.Device](), generationOf(inventory.Of[inventory.Device]())...)
			})
		}()
		select {
		case err := <-readers:
			readers <- err
		case <-time.After(patience):
		}
		return errOwn
	})
	if !errors.Is(err, errOwn) {
		fail("the error of a transaction is %w; want its own", err)
	}
	must("read what is not yet committed", <-readers)
	p.intact(all)
}
