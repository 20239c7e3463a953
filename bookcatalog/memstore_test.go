package bookcatalog_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/storetest"
)

func TestMemStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) bookcatalog.Store { return bookcatalog.NewMemStore() })
}

// TestMemStoreFull checks that the memory is bounded: clients without a login may add books.
func TestMemStoreFull(t *testing.T) {
	t.Parallel()
	store, ctx := bookcatalog.NewMemStore(), t.Context()
	large := strings.Repeat("x", bookcatalog.MaxMemBytes/4)
	for i := range 3 {
		if err := store.Create(ctx, &bookcatalog.Book{ID: fmt.Sprint(i), Title: large, Version: 1}); err != nil {
			t.Fatal(err)
		}
	}
	full := func(err error) {
		t.Helper()
		if bookcatalog.KindOf(err) != bookcatalog.Full {
			t.Errorf("the error is %v, want one of the kind Full", err)
		}
	}
	twice := &bookcatalog.Author{FirstName: large, LastName: large}
	full(store.Create(ctx, &bookcatalog.Book{ID: "a", ISBN13: "9780131103627", Title: large, Version: 1}))
	full(store.Replace(ctx, &bookcatalog.Book{ID: "0", ISBN13: "9780131103627", Author: twice, Version: 2}, 1))
	for _, err := range []error{
		store.Replace(ctx, &bookcatalog.Book{ID: "0", ISBN13: "9780131103627", Title: "x", Version: 2}, 1),
		store.Create(ctx, &bookcatalog.Book{ID: "a", Title: large, Version: 1}),
		store.Delete(ctx, "a", 1),
		store.Create(ctx, &bookcatalog.Book{ID: "b", Subjects: []string{large}, Version: 1}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// naive is a list of books that is too simple to be wrong.
type naive []bookcatalog.Book

// change replaces a version of the book with an id by b, or deletes it if b is nil. The version 0
// creates a book. It returns the kind of the error, or 0.
func (n *naive) change(id string, version int64, b *bookcatalog.Book) bookcatalog.ErrorKind {
	i := slices.IndexFunc(*n, func(other bookcatalog.Book) bool { return other.ID == id })
	switch {
	case version == 0 && i >= 0:
		return bookcatalog.Conflict
	case version != 0 && i < 0:
		return bookcatalog.NotFound
	case version != 0 && (*n)[i].Version != version:
		return bookcatalog.Stale
	}
	if b != nil && slices.ContainsFunc(*n, func(other bookcatalog.Book) bool {
		return b.ISBN13 != "" && other.ISBN13 == b.ISBN13 && other.ID != id
	}) {
		return bookcatalog.Conflict
	}
	if i >= 0 {
		*n = slices.Delete(*n, i, i+1)
	}
	if b != nil {
		*n = append(*n, *b.Clone())
	}
	return 0
}

// TestMemStoreModel makes random calls on a store and on a naive list. Package storetest compares
// other stores with MemStore.
func TestMemStoreModel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	store, ctx, model := bookcatalog.NewMemStore(), t.Context(), naive{}
	kinds := map[bookcatalog.ErrorKind]int{}
	for range 3000 {
		version := int64(1 + r.IntN(3))
		b := &bookcatalog.Book{ID: fmt.Sprint(r.IntN(8)), ISBN13: []string{"", "1", "2", "3", "4"}[r.IntN(5)], Pages: r.IntN(1000), Version: version + 1}
		var err error
		var want bookcatalog.ErrorKind
		switch r.IntN(3) {
		case 0:
			b.Version = 1
			err, want = store.Create(ctx, b), model.change(b.ID, 0, b)
		case 1:
			err, want = store.Replace(ctx, b, version), model.change(b.ID, version, b)
		default:
			err, want = store.Delete(ctx, b.ID, version), model.change(b.ID, version, nil)
		}
		if bookcatalog.KindOf(err) != want || (err == nil) != (want == 0) {
			t.Fatalf("%+v: the error is %v; want kind %d", b, err, want)
		}
		kinds[want]++
		books, total, err := store.List(ctx, &bookcatalog.Query{})
		slices.SortFunc(model, func(a, b bookcatalog.Book) int { return strings.Compare(a.ID, b.ID) })
		if err != nil || total != int64(len(model)) || !slices.EqualFunc(books, model, func(a, b bookcatalog.Book) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("the books are %+v, %v; want %+v", books, err, model)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("the calls have the outcomes %v; want all four", kinds)
	}
}
