package main

import (
	"path/filepath"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) bookcatalog.Store {
		store, err := open(t.Context(), filepath.Join(t.TempDir(), "books.json"))
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.json")
	first, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Create(t.Context(), &bookcatalog.Book{ID: "1", Title: "Emma", Version: 1}); err != nil {
		t.Fatal(err)
	}
	again, err := open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Get(t.Context(), "1"); err != nil || got.Title != "Emma" {
		t.Errorf("the file has %+v, %v", got, err)
	}
}
