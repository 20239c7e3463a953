package bookcatalog_test

import (
	"fmt"
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
