package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

const (
	callers = 8
	calls   = 25 // of each caller
)

func concurrencyCases() []Case {
	return []Case{
		{"concurrency/one isbn", "of those who add the same book at once exactly one may succeed", func(f *fixture) {
			f.succeed(bookcatalog.Conflict, func(caller, i int) error {
				return f.store.Create(f.ctx, withISBN(minimal(1+caller*calls+i, "x"), isbn(i)))
			})
		}},
		{"concurrency/no lost update", "a change that overwrites another one unseen loses somebody's work", func(f *fixture) {
			f.create(minimal(1, "counter"))
			f.concurrently(func(_, _ int) {
				err := error(bookcatalog.ErrStale)
				for bookcatalog.KindOf(err) == bookcatalog.Stale {
					b := f.get(id(1))
					b.Pages++
					b.Version++
					err = f.store.Replace(f.ctx, b, b.Version-1)
				}
				must("replace", err)
			})
			if b := f.get(id(1)); b.Pages != callers*calls || b.Version != callers*calls+1 {
				fail("after %d changes the number is %d and the version %d", callers*calls, b.Pages, b.Version)
			}
		}},
		{"concurrency/one delete", "only one caller can have deleted a book", func(f *fixture) {
			for n := range calls {
				f.create(full(n))
			}
			f.succeed(bookcatalog.NotFound, func(_, i int) error { return f.store.Delete(f.ctx, id(i), 1) })
		}},
		{"concurrency/readers", "a reader must see a book before a change or after it, not in between", checkReaders},
	}
}

// concurrently has all callers make all calls at the same time, and copies the books of the store
// to the model.
func (f *fixture) concurrently(call func(caller, i int)) {
	errs := make([]error, callers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for c := range callers {
		group.Go(func() {
			<-start
			errs[c] = failureOf(func() {
				for i := range calls {
					call(c, i)
				}
			})
		})
	}
	close(start)
	group.Wait()
	must("concurrent callers", errors.Join(errs...))
	books, _, err := f.store.List(f.ctx, &bookcatalog.Query{})
	must("list", err)
	f.model = bookcatalog.NewMemStore()
	for i := range books {
		must("a listed book", f.model.Create(f.ctx, &books[i]))
	}
}

// succeed requires that each call succeeds for one caller, and that the others get an error.
func (f *fixture) succeed(kind bookcatalog.ErrorKind, call func(caller, i int) error) {
	var succeeded [calls]atomic.Int64
	f.concurrently(func(caller, i int) {
		if err := call(caller, i); err != nil {
			requireKind("concurrent call", err, kind)
		} else {
			succeeded[i].Add(1)
		}
	})
	for i := range succeeded {
		if n := succeeded[i].Load(); n != 1 {
			fail("%d of %d callers succeed; want one", n, callers)
		}
	}
}

// checkReaders has one caller keep two fields equal, and the others compare them.
func checkReaders(f *fixture) {
	f.create(minimal(1, "0"))
	f.concurrently(func(caller, i int) {
		if caller == 0 {
			b := at(minimal(1, fmt.Sprint(i+1)), int64(i+2))
			b.Pages = i + 1
			must("replace", f.store.Replace(f.ctx, b, b.Version-1))
			return
		}
		books, total, err := f.store.List(f.ctx, &bookcatalog.Query{})
		must("list", err)
		if total != 1 || len(books) != 1 || books[0].Title != fmt.Sprint(books[0].Pages) || books[0].Version != int64(books[0].Pages)+1 {
			fail("a reader sees a total of %d, and half a change: %+v", total, books)
		}
	})
}
