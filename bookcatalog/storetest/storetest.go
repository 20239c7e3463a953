// Package storetest is a conformance suite for implementations of bookcatalog.Store.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) bookcatalog.Store { return bookcatalog.NewMemStore() })
//	}
//
// The suite has four layers: basic (one caller, one book), list (queries), concurrency, and
// model (random calls). Each case says why it must hold, and the failure repeats it.
//
// # Design notes
//
// The suite makes each call on the store and on a bookcatalog.MemStore, the model, and requires the
// same outcome. After each case the store must list what the model contains. A case therefore states
// its calls only. The tests of bookcatalog compare MemStore with a list of books that is too simple
// to be wrong.
//
// A case is a function of a store and not a test, so that the suite's own tests can run it
// on stores with seeded defects, each of which it must detect.
//
// Every store must pass the whole suite. There are no options, since no part of the contract
// is optional.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// Run tests that the stores that open returns conform to bookcatalog.Store. Each case opens a
// new, empty one, which open closes with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) bookcatalog.Store) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t.Context(), open(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Case is one requirement of the contract.
type Case struct {
	Name string // its layer, a slash, and its own name
	Why  string // why it must hold
	test func(f *fixture)
}

// Cases returns all cases, in the order in which Run runs them.
func Cases() []Case {
	return slices.Concat(basicCases(), listCases(), concurrencyCases(), []Case{
		{"model/random calls", "after any sequence of calls a store must behave as the simplest store would", checkRandom},
	})
}

// Check runs the case on a store, which must be empty. The error says what was expected, what
// was returned, and why the case must hold.
func (c Case) Check(ctx context.Context, s bookcatalog.Store) error {
	f := &fixture{ctx: ctx, store: s, model: bookcatalog.NewMemStore()}
	err := failureOf(func() {
		c.test(f)
		f.verify()
	})
	if err != nil {
		return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
	}
	return nil
}

// fixture is a store under test and the model of its content.
type fixture struct {
	ctx   context.Context
	store bookcatalog.Store
	model *bookcatalog.MemStore
}

// failure is the panic that ends a case.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// failureOf calls f and returns the failure that ends it, or nil.
func failureOf(f func()) (err error) {
	defer func() {
		r := recover()
		if f, ok := r.(failure); ok {
			err = f.err
		} else if r != nil {
			panic(r)
		}
	}()
	f()
	return nil
}

// must fails if there is an error.
func must(what string, err error) { requireKind(what, err, 0) }

// requireKind requires an error of a kind, or nil for 0.
func requireKind(what string, err error, kind bookcatalog.ErrorKind) {
	if bookcatalog.KindOf(err) != kind || (err == nil) != (kind == 0) {
		fail("%s: the error is %v (kind %d); want kind %d", what, err, bookcatalog.KindOf(err), kind)
	}
}

// create creates books, and requires the outcome of the model.
func (f *fixture) create(books ...*bookcatalog.Book) {
	for _, b := range books {
		want := bookcatalog.KindOf(f.model.Create(f.ctx, b))
		requireKind("create "+b.ID, f.store.Create(f.ctx, b), want)
	}
}

// replace replaces a version of the book with the same id.
func (f *fixture) replace(b *bookcatalog.Book, version int64) {
	want := bookcatalog.KindOf(f.model.Replace(f.ctx, b, version))
	requireKind(fmt.Sprintf("replace version %d of %s", version, b.ID), f.store.Replace(f.ctx, b, version), want)
}

// remove deletes a version of a book.
func (f *fixture) remove(id string, version int64) {
	want := bookcatalog.KindOf(f.model.Delete(f.ctx, id, version))
	requireKind(fmt.Sprintf("delete version %d of %s", version, id), f.store.Delete(f.ctx, id, version), want)
}

// verify requires that the store contains the books of the model and no others.
func (f *fixture) verify() {
	for _, b := range f.agrees(&bookcatalog.Query{}) {
		same("get", f.get(b.ID), &b)
	}
}

// get returns a book, which must exist.
func (f *fixture) get(id string) *bookcatalog.Book {
	b, err := f.store.Get(f.ctx, id)
	must("get "+id, err)
	return b
}

// agrees requires that the store lists the same books for a query as the model, and returns them.
func (f *fixture) agrees(q *bookcatalog.Query) []bookcatalog.Book {
	what := fmt.Sprintf("list %+v", *q)
	want, total, err := f.model.List(f.ctx, q)
	must("model: "+what, err)
	got, gotTotal, err := f.store.List(f.ctx, q)
	must(what, err)
	if gotTotal != total || len(got) != len(want) {
		fail("%s: %d books and a total of %d; want %d and %d", what, len(got), gotTotal, len(want), total)
	}
	for i := range got {
		same(fmt.Sprintf("%s: book %d", what, i), &got[i], &want[i])
	}
	return got
}

// same requires that a book equals another one in every field. Times must be in UTC.
func same(what string, got, want *bookcatalog.Book) {
	if !reflect.DeepEqual(got, want) {
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		fail("%s: the book is %s; want %s", what, a, b)
	}
}
