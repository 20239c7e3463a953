package bookcatalog_test

import (
	"context"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

func TestSeed(t *testing.T) {
	t.Parallel()
	catalog := bookcatalog.New(bookcatalog.NewMemStore(), nil)
	total := func() int64 {
		_, n, err := catalog.List(t.Context(), &bookcatalog.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 2 { // the second time there are books
		if err := catalog.Seed(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := total(); n != 3 {
			t.Errorf("%d books, want the 3 samples", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bookcatalog.New(bookcatalog.NewMemStore(), nil).Seed(ctx); err == nil {
		t.Error("no error although the context has ended")
	}
}
