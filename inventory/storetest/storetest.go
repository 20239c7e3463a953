// Package storetest is a conformance suite for implementations of records.Store.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(testing.TB) records.Store { return records.NewMemStore(storetest.Schema()) })
//	}
//
// The suite has layers: basic (one caller, one record), constraint (keys, references and
// versions), reference (what deleting a record does to others), transaction, list (queries),
// page (sorting and paging), concurrency, and model (random calls). Each case says why it must
// hold, and the failure repeats it.
//
// # Design notes
//
// Records, keys, references and filters are made from the descriptions of the resources, so
// the suite covers a field as soon as it is added to a struct.
//
// Most cases are lists of calls. The suite makes each call on the store and on a model, a map
// of records that is too simple to be wrong, and requires the same outcome; after each case
// the store must contain what the model contains. A case therefore states its calls only.
//
// A case is a function of a store and not a test, so that the suite's own tests can run it
// on stores with seeded defects, each of which it must detect.
//
// The cases share a few stores, one for each layer that runs at the same time, and empty them
// through the interface. To open a database for each case would take longer than the cases,
// and a store that can't be emptied has a defect.
//
// Random calls use fixed seeds: a failure can be repeated. With -short, and with the race
// detector, the cases are for some of the resources only.
//
// Every store must pass the whole suite. There are no options, since no part of the contract
// is optional.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// resourceOf returns the resource of a record of the suite.
func resourceOf(rec records.Record) *records.Resource {
	r, err := schema.Of(rec)
	must("find the resource of a record", err)
	return r
}

// Run tests that the stores that open returns conform to records.Store. The layers of the
// suite run in parallel. Each has a store for itself, which a later layer reuses. So open is
// called a few times, by several goroutines, and again after a case that has failed; it must
// return a new, empty store each time, and close it with t.Cleanup.
func Run(t *testing.T, open func(t testing.TB) records.Store) {
	t.Helper()
	brief := testing.Short() || scaletest.Race()
	free := make(chan *fixture, len(layers()))
	for _, layer := range layers() {
		name, _, _ := strings.Cut(layer[0].Name, "/")
		t.Run(name, func(inner *testing.T) {
			inner.Parallel()
			var f *fixture
			select {
			case f = <-free:
			default:
				f = newFixture(t.Context(), open(t), brief)
			}
			for _, c := range layer {
				_, name, _ := strings.Cut(c.Name, "/")
				passed := inner.Run(name, func(t *testing.T) {
					f.ctx = t.Context()
					if err := c.check(f); err != nil {
						t.Fatal(err)
					}
				})
				if !passed {
					f = newFixture(t.Context(), open(t), brief) // the content of the other store is unknown
				}
			}
			free <- f
		})
	}
}

// Case is one requirement of the contract.
type Case struct {
	Name string // its layer, a slash, and its own name
	Why  string // why it must hold
	test func(f *fixture)
	// reads says that the case queries the data set, and leaves it as it was or deletes all of it.
	// Consecutive cases share the data set.
	reads bool
}

// Cases returns all cases, in the order in which Run runs them.
func Cases() []Case { return slices.Concat(layers()...) }

func layers() [][]Case {
	return [][]Case{
		basicCases(), constraintCases(), referenceCases(), transactionCases(),
		listCases(), pageCases(), concurrencyCases(),
		{{"model/random transactions", "after any sequence of calls a store must behave as the simplest store would", checkRandomTransactions, false}},
	}
}

// Check runs the case on a store, which must be empty. The store is empty again if the error
// is nil. The error says what was expected, what was returned, and why the case must hold.
func (c Case) Check(ctx context.Context, s records.Store) error {
	f := newFixture(ctx, s, false)
	if err := c.check(f); err != nil {
		return err
	}
	return failureOf(f.empty)
}

// check runs the case on a store with the content that the previous case left.
func (c Case) check(f *fixture) error {
	err := failureOf(func() {
		if c.reads != f.dataset {
			f.empty()
		}
		if c.reads && !f.dataset {
			f.createDataset()
		}
		f.Rand = rand.New(rand.NewPCG(6, 7))
		c.test(f)
		f.verify(f.store, f.model)
		if !c.reads {
			f.empty()
		}
	})
	if err != nil {
		return fmt.Errorf("%w\nThis must hold because %s", err, c.Why)
	}
	return nil
}
