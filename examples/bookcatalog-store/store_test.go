package main

import (
	"os"
	"path/filepath"
	"strings"
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
		t.Errorf("after reopening: %+v, %v", got, err)
	}
}

// TestBrokenFile checks that open rejects an invalid file; otherwise the next change would
// overwrite it.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.json")
	for _, content := range []string{`[{"id":"1"`, `[{"id":"1","title":"Emma"},{"id":"1","title":"Persuasion"}]`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+": ") {
			t.Errorf("%s: got error %v, want one that begins with the path", content, err)
		}
	}
}
