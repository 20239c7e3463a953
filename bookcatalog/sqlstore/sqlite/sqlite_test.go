package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/bookcatalog/storetest"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) bookcatalog.Store {
		return open(t, filepath.Join(t.TempDir(), "books.db"))
	})
}

// TestReopen: a file has its books when it is opened again, whatever its name.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20&f'g.db")
	book := &bookcatalog.Book{ID: "1", Title: "Emma", Version: 1}
	first, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Create(t.Context(), book); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file has another name: %v", err)
	}
	if got, err := open(t, path).Get(t.Context(), "1"); err != nil || got.Title != "Emma" {
		t.Errorf("the file has %+v, %v", got, err)
	}
	if !strings.HasPrefix(path, "/") {
		return // not a system on which one slash more is the same path
	}
	if got, err := open(t, "/"+path).Get(t.Context(), "1"); err != nil || got.Title != "Emma" {
		t.Errorf("with two slashes before its path the file has %+v, %v", got, err)
	}
}

// TestTwoProcesses: two stores may write to one file.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	one, other := open(t, path), open(t, path)
	for i, store := range []*sqlite.Store{one, other, one, other} {
		if err := store.Create(t.Context(), &bookcatalog.Book{ID: string(rune('a' + i)), Title: "x", Version: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, total, err := one.List(t.Context(), &bookcatalog.Query{}); err != nil || total != 4 {
		t.Errorf("%d books, %v; want 4", total, err)
	}
}

// TestOpenersAtOnce: several processes may open a new file at the same time.
func TestOpenersAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 5 {
		path := filepath.Join(dir, fmt.Sprint(round, ".db"))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				store, err := sqlite.Open(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, path := range map[string]string{
		"no path": "", "memory": ":memory:", "a directory": dir, "another file": text,
		"no such directory": filepath.Join(dir, "none", "books.db"),
	} {
		store, err := sqlite.Open(t.Context(), path)
		if err == nil {
			_ = store.Close()
			t.Errorf("%s: opened", why)
		} else if path != "" && !strings.Contains(err.Error(), path) && path != ":memory:" {
			t.Errorf("%s: the error %q does not name the file", why, err)
		}
	}
}

// TestFailures: errors of the database are failures, and not errors of the catalog.
func TestFailures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	book := &bookcatalog.Book{ID: "1", Title: "Emma", Version: 1}
	if err := store.Create(t.Context(), book); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE books SET author = '{'"); err != nil {
		t.Fatal(err)
	}
	_, getErr := store.Get(t.Context(), "1")
	_, _, listErr := store.List(t.Context(), &bookcatalog.Query{})
	failed(t, "a row that is broken, read", getErr)
	failed(t, "a row that is broken, listed", listErr)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, listErr = store.List(t.Context(), &bookcatalog.Query{Limit: 1})
	failed(t, "list when closed", listErr)
	failed(t, "create when closed", store.Create(t.Context(), book))
	failed(t, "replace when closed", store.Replace(t.Context(), book, 1))
	failed(t, "delete when closed", store.Delete(t.Context(), "1", 1))
}

func failed(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || bookcatalog.KindOf(err) != 0 {
		t.Errorf("%s: the error is %v (kind %d), want a failure", what, err, bookcatalog.KindOf(err))
	}
}
