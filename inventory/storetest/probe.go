package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ashlar-go/ashlar/inventory"
)

// probe is a store with the demands that are made on it. A demand that is not met ends the
// case by a panic with a failure.
type probe struct {
	ctx   context.Context
	store inventory.Store
	zoo   *zoo // what is in the store for cases that only read; nil if there is none
}

// failure is what a case ends with.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// failureOf is the failure that f ends with, if it does.
func failureOf(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// together runs f once per caller, all at the same time.
func together(callers int, f func(caller int)) {
	errs := make([]error, callers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for c := range callers {
		all.Go(func() {
			<-start
			errs[c] = failureOf(func() { f(c) })
		})
	}
	close(start)
	all.Wait()
	must("callers at the same time", errors.Join(errs...))
}

// must demands that there is no error.
func must(what string, err error) {
	if err != nil {
		fail("%s: %w", what, err)
	}
}

// refused demands an *Error that says the same as another one.
func refused(what string, err error, want *inventory.Error) {
	e, ok := errors.AsType[*inventory.Error](err)
	if !ok {
		fail("%s: the error is %T %w; want %q", what, err, err, want.Message)
	}
	if e.Kind != want.Kind || e.Message != want.Message || !slices.Equal(e.Fields, want.Fields) {
		fail("%s: the error is of kind %d, %q, about %v; want kind %d, %q, about %v",
			what, e.Kind, e.Message, e.Fields, want.Kind, want.Message, want.Fields)
	}
}

// change makes a transaction, which must succeed.
func (p *probe) change(what string, f func(tx inventory.Tx) error) {
	must(what, p.store.Change(p.ctx, f))
}

// create adds records in one call of one transaction.
func (p *probe) create(records ...inventory.Record) {
	p.change("create "+names(records), func(tx inventory.Tx) error { return tx.Create(p.ctx, records...) })
}

// tryCreate is create that may be refused.
func (p *probe) tryCreate(records ...inventory.Record) error {
	return p.store.Change(p.ctx, func(tx inventory.Tx) error { return tx.Create(p.ctx, records...) })
}

// tryUpdate puts a record, with a version of its own, in place of a version.
func (p *probe) tryUpdate(rec inventory.Record, version int64) error {
	return p.store.Change(p.ctx, func(tx inventory.Tx) error { return tx.Update(p.ctx, rec, version) })
}

// update puts a record in place of the version before its own.
func (p *probe) update(rec inventory.Record) {
	must("update "+names([]inventory.Record{rec}), p.tryUpdate(rec, rec.Meta().Version-1))
}

func (p *probe) tryRemove(rec inventory.Record, version int64) error {
	return p.store.Change(p.ctx, func(tx inventory.Tx) error {
		return tx.Delete(p.ctx, inventory.ResourceOf(rec), rec.Meta().ID, version)
	})
}

func (p *probe) remove(rec inventory.Record) {
	must("delete "+names([]inventory.Record{rec}), p.tryRemove(rec, rec.Meta().Version))
}

// removeAll deletes records in one transaction.
func (p *probe) removeAll(records []inventory.Record) {
	p.change("delete "+names(records), func(tx inventory.Tx) error {
		for _, rec := range records {
			if err := tx.Delete(p.ctx, inventory.ResourceOf(rec), rec.Meta().ID, rec.Meta().Version); err != nil {
				return err
			}
		}
		return nil
	})
}

// get is the record as the store has it.
func (p *probe) get(of inventory.Record) inventory.Record {
	rec, err := p.store.Get(p.ctx, inventory.ResourceOf(of), of.Meta().ID)
	must("get "+names([]inventory.Record{of}), err)
	return rec
}

// has demands that the store has these records, just so.
func (p *probe) has(records ...inventory.Record) {
	for _, want := range records {
		same("get", p.get(want), want)
	}
}

// hasNot demands that the store has no records with these ids.
func (p *probe) hasNot(records ...inventory.Record) {
	for _, rec := range records {
		r := inventory.ResourceOf(rec)
		_, err := p.store.Get(p.ctx, r, rec.Meta().ID)
		refused("get "+names([]inventory.Record{rec}), err, inventory.Absent(r))
	}
}

// list is the answer to a query.
func (p *probe) list(q *inventory.Query) *inventory.Page {
	page, err := p.store.List(p.ctx, q)
	must("list "+show(q), err)
	return page
}

// holds demands that the store has these records of a resource, in the order of their
// ids, and no others.
func (p *probe) holds(r *inventory.Resource, want ...inventory.Record) {
	q := &inventory.Query{Resource: r, Count: true}
	samePage(show(q), p.list(q), &inventory.Page{Records: want, Total: int64(len(want))})
}

// prepare sees to it that there is a zoo in the store, or none.
func (p *probe) prepare(zoo bool) {
	switch {
	case zoo && p.zoo == nil:
		p.zoo = p.settle()
	case !zoo && p.zoo != nil:
		p.empty()
	}
}

// empty takes out all that is in the store, beginning with what refers to others.
func (p *probe) empty() {
	p.zoo = nil
	for _, r := range slices.Backward(inventory.StoredResources()) {
		p.removeAll(p.list(&inventory.Query{Resource: r}).Records)
	}
	for _, r := range inventory.StoredResources() {
		p.holds(r)
	}
}
