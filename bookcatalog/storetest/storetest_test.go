package storetest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/storetest"
)

// TestGood: the suite passes on a store without defects.
func TestGood(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) bookcatalog.Store { return &defective{Store: bookcatalog.NewMemStore()} })
}

// defective is a store with some methods replaced.
type defective struct {
	bookcatalog.Store
	create  func(context.Context, *bookcatalog.Book) error
	get     func(context.Context, string) (*bookcatalog.Book, error)
	replace func(context.Context, *bookcatalog.Book, int64) error
	list    func(context.Context, *bookcatalog.Query) ([]bookcatalog.Book, int64, error)
}

func (b *defective) Create(ctx context.Context, book *bookcatalog.Book) error {
	if b.create != nil {
		return b.create(ctx, book)
	}
	return b.Store.Create(ctx, book)
}

func (b *defective) Get(ctx context.Context, id string) (*bookcatalog.Book, error) {
	if b.get != nil {
		return b.get(ctx, id)
	}
	return b.Store.Get(ctx, id)
}

func (b *defective) Replace(ctx context.Context, book *bookcatalog.Book, version int64) error {
	if b.replace != nil {
		return b.replace(ctx, book, version)
	}
	return b.Store.Replace(ctx, book, version)
}

func (b *defective) List(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
	if b.list != nil {
		return b.list(ctx, q)
	}
	return b.Store.List(ctx, q)
}

// defects are stores with a defect, and the cases that must detect it.
var defects = []struct {
	what     string
	detected []string
	seed     func(b *defective)
}{
	{"loses an address", []string{"basic/stores every field"}, func(b *defective) {
		b.create = func(ctx context.Context, book *bookcatalog.Book) error {
			c := book.Clone()
			if c.Author != nil {
				c.Author.Address = nil
			}
			return b.Store.Create(ctx, c)
		}
	}},
	{"adds an author", []string{"basic/stores missing values", "model/random calls"}, func(b *defective) {
		b.create = func(ctx context.Context, book *bookcatalog.Book) error {
			c := book.Clone()
			if c.Author == nil {
				c.Author = &bookcatalog.Author{}
			}
			return b.Store.Create(ctx, c)
		}
	}},
	{"fails for an unknown id", []string{"basic/absent"}, func(b *defective) {
		b.get = func(ctx context.Context, id string) (*bookcatalog.Book, error) {
			book, err := b.Store.Get(ctx, id)
			if err != nil {
				return nil, errors.New("sql: no rows")
			}
			return book, nil
		}
	}},
	{"accepts duplicate ISBNs", []string{"basic/duplicates", "concurrency/one isbn", "model/random calls"}, func(b *defective) {
		b.create = func(ctx context.Context, book *bookcatalog.Book) error {
			c := book.Clone()
			c.ISBN13 = ""
			return b.Store.Create(ctx, c)
		}
	}},
	{"does not compare versions", []string{"basic/stale", "concurrency/no lost update", "model/random calls"}, func(b *defective) {
		b.replace = func(ctx context.Context, book *bookcatalog.Book, _ int64) error {
			old, err := b.Store.Get(ctx, book.ID)
			if err != nil {
				return err
			}
			runtime.Gosched()
			return b.Store.Replace(ctx, book, old.Version)
		}
	}},
	{"keeps an old ISBN", []string{"basic/frees isbn"}, func(b *defective) {
		b.replace = func(ctx context.Context, book *bookcatalog.Book, version int64) error {
			old, err := b.Store.Get(ctx, book.ID)
			if err != nil {
				return err
			}
			c := book.Clone()
			c.ISBN13 = old.ISBN13
			return b.Store.Replace(ctx, c, version)
		}
	}},
	{"shares its books", []string{"basic/copies"}, func(b *defective) {
		shared := map[string]*bookcatalog.Book{}
		b.create = func(ctx context.Context, book *bookcatalog.Book) error {
			shared[book.ID] = book
			return b.Store.Create(ctx, book)
		}
		b.get = func(_ context.Context, id string) (*bookcatalog.Book, error) { return shared[id], nil }
	}},
	{"ignores its context", []string{"basic/canceled"}, func(b *defective) {
		b.create = func(ctx context.Context, book *bookcatalog.Book) error {
			return b.Store.Create(context.WithoutCancel(ctx), book)
		}
	}},
	{"ignores a filter", []string{"list/filters", "model/random calls"}, func(b *defective) {
		b.list = func(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
			c := *q
			c.Subject = ""
			return b.Store.List(ctx, &c)
		}
	}},
	{"ignores all sort keys but one", []string{"list/orders", "model/random calls"}, func(b *defective) {
		b.list = func(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
			c := *q
			c.Sort = q.Sort[:min(1, len(q.Sort))]
			return b.Store.List(ctx, &c)
		}
	}},
	{"counts the page", []string{"list/pages", "model/random calls"}, func(b *defective) {
		b.list = func(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
			books, _, err := b.Store.List(ctx, q)
			return books, int64(len(books)), err
		}
	}},
	{"has no cursors", []string{"list/cursors", "model/random calls"}, func(b *defective) {
		b.list = func(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
			c := *q
			c.After = nil
			return b.Store.List(ctx, &c)
		}
	}},
	{"changes in two steps", []string{"concurrency/readers"}, func(b *defective) {
		b.replace = func(ctx context.Context, book *bookcatalog.Book, version int64) error {
			half := book.Clone()
			half.Pages, half.Version = half.Pages-1, version
			if err := b.Store.Replace(ctx, half, version); err != nil {
				return err
			}
			runtime.Gosched()
			return b.Store.Replace(ctx, book, version)
		}
	}},
}

// TestDefects: the cases that are listed for a defect detect it.
func TestDefects(t *testing.T) {
	t.Parallel()
	for _, d := range defects {
		t.Run(d.what, func(t *testing.T) {
			t.Parallel()
			for _, name := range d.detected {
				if !detects(t, name, d.seed) {
					t.Errorf("%s: a store that %s passes", name, d.what)
				}
			}
		})
	}
}

// detects runs one case on a store with a defect, repeatedly because of the concurrent cases.
func detects(t *testing.T, name string, seed func(*defective)) bool {
	t.Helper()
	all := storetest.Cases()
	i := slices.IndexFunc(all, func(c storetest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	for range 200 {
		b := &defective{Store: bookcatalog.NewMemStore()}
		seed(b)
		if err := all[i].Check(t.Context(), b); err != nil {
			if !strings.Contains(err.Error(), all[i].Why) {
				t.Errorf("%s: the failure does not say why: %v", name, err)
			}
			return true
		}
	}
	return false
}
