package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

const (
	callers   = 8
	callsEach = 25
)

func concurrencyCases() []Case {
	return []Case{
		{"concurrency/one isbn", "of two who add the same book at once exactly one may succeed", checkOneISBN},
		{"concurrency/no lost change", "a change that is overwritten unseen is work that somebody loses", checkNoLostChange},
		{"concurrency/one delete", "only one of two can have removed a book", checkOneDelete},
		{"concurrency/readers", "a reader must see each book whole, before a change or after it", checkReaders},
	}
}

// together runs f once per caller, all at the same time.
func together(f func(caller int) error) error {
	errs := make([]error, callers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for c := range callers {
		all.Go(func() {
			<-start
			errs[c] = f(c)
		})
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkOneISBN(ctx context.Context, s bookcatalog.Store) error {
	var added atomic.Int64
	err := together(func(caller int) error {
		for i := range callsEach {
			err := s.Create(ctx, withISBN(plain(1+caller*callsEach+i, "x"), isbn(i)))
			if err == nil {
				added.Add(1)
			} else if err := isKind("create", err, bookcatalog.Conflict); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && added.Load() != callsEach {
		err = fmt.Errorf("%d books were added with %d ISBNs", added.Load(), callsEach)
	}
	return err
}

// checkNoLostChange lets all callers count in the number of pages.
func checkNoLostChange(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, plain(1, "counter")); err != nil {
		return err
	}
	err := together(func(int) error {
		for range callsEach {
			if err := count(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := s.Get(ctx, id(1))
	if err == nil && (got.Pages != callers*callsEach || got.Version != callers*callsEach+1) {
		err = fmt.Errorf("after %d changes there are %d, and the version is %d", callers*callsEach, got.Pages, got.Version)
	}
	return err
}

// count adds one, and tries again as long as others come before.
func count(ctx context.Context, s bookcatalog.Store) error {
	for {
		b, err := s.Get(ctx, id(1))
		if err != nil {
			return err
		}
		b.Pages++
		b.Version++
		if err = s.Replace(ctx, b, b.Version-1); bookcatalog.KindOf(err) != bookcatalog.Stale {
			return err
		}
	}
}

func checkOneDelete(ctx context.Context, s bookcatalog.Store) error {
	for n := range callsEach {
		if err := create(ctx, s, full(n)); err != nil {
			return err
		}
	}
	var deleted atomic.Int64
	err := together(func(int) error {
		for n := range callsEach {
			err := s.Delete(ctx, id(n), 1)
			if err == nil {
				deleted.Add(1)
			} else if err := isKind("delete", err, bookcatalog.NotFound); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && deleted.Load() != callsEach {
		err = fmt.Errorf("%d books were removed %d times", callsEach, deleted.Load())
	}
	return err
}

// checkReaders has a writer that keeps two fields alike, and readers that compare them.
func checkReaders(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, version(plain(1, "0"), 1)); err != nil {
		return err
	}
	return together(func(caller int) error {
		for i := range callsEach {
			if caller == 0 {
				b := plain(1, fmt.Sprint(i+1))
				b.Pages, b.Version = i+1, int64(i+2)
				if err := s.Replace(ctx, b, b.Version-1); err != nil {
					return err
				}
				continue
			}
			books, total, err := s.List(ctx, &bookcatalog.Query{})
			if err != nil || total != 1 || len(books) != 1 {
				return fmt.Errorf("a reader sees %d of %d books, %w", len(books), total, err)
			}
			if b := books[0]; b.Title != fmt.Sprint(b.Pages) || b.Version != int64(b.Pages)+1 {
				return fmt.Errorf("a reader sees half a change: %+v", b)
			}
		}
		return nil
	})
}
