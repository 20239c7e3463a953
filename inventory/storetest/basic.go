package storetest

import (
	"context"
	"errors"
	"reflect"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func basicCases() []Case {
	return []Case{
		{"basic/stores every field", "a record must be read as it was written, or clients lose what they sent", func(f *fixture) {
			for _, rec := range f.samples() {
				f.apply(create(rec))
			}
		}, false},
		{"basic/stores missing values", "a value that a record does not have must not appear, and null is not zero", func(f *fixture) {
			for _, r := range f.resources {
				for n := range samples {
					f.apply(create(minimal(r, n+1)))
				}
			}
		}, false},
		{"basic/several at once", "a bulk call may bring records of all resources, those that are referred to first", func(f *fixture) {
			f.apply(create(), create(f.samples()...))
		}, false},
		{"basic/absent", "an unknown id is a result and not a failure", func(f *fixture) {
			unknown := func() {
				for _, r := range f.resources {
					f.apply(absent(r)...)
				}
				f.verify(f.store, f.model)
			}
			unknown()
			f.apply(create(f.samples()...))
			unknown()
		}, false},
		{"basic/update", "an update must replace all of a record and nothing else", func(f *fixture) {
			f.apply(create(f.samples()...))
			for _, r := range f.resources {
				f.apply(update(at(minimal(r, 1), 2)))
			}
			f.verify(f.store, f.model)
			for _, r := range f.resources {
				f.apply(update(at(full(r, 1), 3)))
			}
		}, false},
		{"basic/delete", "a deleted record must be gone, and nothing else", func(f *fixture) {
			all, every := f.samples(), samples
			if f.brief {
				every *= 4
			}
			f.apply(create(all...))
			for i := len(all) - 1; i >= 0; i-- { // nothing refers to the last ones
				f.apply(remove(all[i]))
				f.apply(refuse(remove(all[i]))...)
				if i%every == 0 {
					f.verify(f.store, f.model)
				}
			}
		}, false},
		{"basic/copies", "what callers do to a record must not change what is stored", checkCopies, false},
		{"basic/canceled", "a call whose context has ended must not change anything", checkCanceled, false},
	}
}

// deface changes a record through all that it may share with a store.
func deface(rec records.Record) {
	for name, value := range rec.Meta().Extra {
		if list, ok := value.([]string); ok {
			clear(list)
		}
		rec.Meta().Extra[name] = "defaced"
	}
	for _, field := range resourceOf(rec).Fields() {
		if field.Extra {
			continue
		}
		switch v := reflect.ValueOf(field.Pointer(rec)).Elem(); {
		case v.Kind() == reflect.Pointer && !v.IsNil():
			v.Elem().SetZero()
		case v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
			v.Clear()
		}
	}
	rec.Meta().Version = 77
}

func checkCopies(f *fixture) {
	for _, given := range f.samples() {
		f.apply(create(given))
		deface(given)
	}
	for _, r := range f.resources {
		got, err := f.store.Get(f.ctx, r, id(r, 1))
		must("get", err)
		deface(got)
		page, err := f.store.List(f.ctx, &records.Query{Resource: r})
		must("list", err)
		for _, rec := range page.Records {
			deface(rec)
		}
		must("read in a transaction", f.store.Change(f.ctx, func(tx records.Tx) error {
			rec, err := tx.Get(f.ctx, r, id(r, 1))
			if err == nil {
				deface(rec)
			}
			return err
		}))
		given := at(full(r, 1), 2)
		f.apply(update(given))
		deface(given)
	}
}

func checkCanceled(f *fixture) {
	r := records.Of[inventory.Location](schema)
	f.apply(create(full(r, 1)))
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var second error
	err := f.store.Change(ctx, func(tx records.Tx) error {
		if err := tx.Create(ctx, full(r, 2)); err != nil {
			return err
		}
		cancel()
		second = tx.Create(ctx, full(r, 3))
		return nil
	})
	if err == nil || second == nil {
		fail("a transaction whose context ends: the call returns %v, and the transaction %v", second, err)
	}
	_, getErr := f.store.Get(ctx, r, id(r, 1))
	_, listErr := f.store.List(ctx, &records.Query{Resource: r})
	errs := map[string]error{"get": getErr, "list": listErr}
	for _, c := range []call{create(full(r, 2)), update(at(full(r, 1), 2)), remove(full(r, 1))} {
		errs[c.what] = f.store.Change(ctx, func(tx records.Tx) error { return c.store(ctx, tx) })
	}
	for what, err := range errs {
		if !errors.Is(err, context.Canceled) {
			fail("%s: the error is %v, although the context has ended", what, err)
		}
	}
	f.verify(f.store, f.model)
	f.apply(create(full(r, 2)))
}
