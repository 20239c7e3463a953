package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
)

var update = flag.Bool("update", false, "write the database of the newest schema, if it is missing")

// TestUpgrade opens a database of each earlier schema, as programs of that time left it, and
// requires that its books are unchanged. -update writes the file of the newest schema if it is
// missing. An existing file is never written again, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(all) == 0 {
		t.Fatalf("the migrations are %v, %v", all, err)
	}
	for _, name := range all {
		number, _, _ := strings.Cut(filepath.Base(name), "_")
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "schema-"+number+".db.gz")
			if _, err := os.Stat(file); os.IsNotExist(err) && *update && name == all[len(all)-1] {
				leave(t, file)
			}
			path := filepath.Join(t.TempDir(), "books.db")
			unpack(t, file, path)
			checkUpgraded(t, path)
		})
	}
}

// TestNewerSchema: a database that is newer than the program is refused.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	store, err := sqlite.Open(t.Context(), path)
	check(t, err)
	check(t, store.Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (90000, 1)")
	check(t, err)
	check(t, db.Close())
	store, err = sqlite.Open(t.Context(), path)
	if err == nil {
		_ = store.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "version 90000 of the schema") || !strings.Contains(err.Error(), path) {
		t.Errorf("the error is %v", err)
	}
}

// upgradeBooks returns the books in the databases of testdata. They must not change: a later
// field is empty in them.
func upgradeBooks() []bookcatalog.Book {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	return []bookcatalog.Book{
		{
			ID: "018f4c2e-7b1a-7c3d-9e4f-000000000001", ISBN: "0-14-143958-6", ISBN13: "9780141439587", Title: "Emma — ein Roman",
			Author:    &bookcatalog.Author{ID: "ja", FirstName: "Jane", LastName: "Austen", Born: "1775-12-16", Address: &bookcatalog.Address{City: "Chawton", Country: "GB"}},
			Authors:   []bookcatalog.Author{{FirstName: "Fiona", LastName: "O'Stafford"}},
			Publisher: "Penguin", PublishedYear: 1815, Language: "en-GB", Pages: 474, Subjects: []string{"novel", `"wit", irony`},
			PriceMinor: 1299, Currency: "GBP", CreatedAt: at, UpdatedAt: at.Add(time.Hour), Version: 2,
		},
		{ID: "018f4c2e-7b1a-7c3d-9e4f-000000000002", Title: "bare", CreatedAt: at, UpdatedAt: at, Version: 1},
	}
}

// leave writes a database with these books, as this program does.
func leave(t *testing.T, file string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "books.db")
	store, err := sqlite.Open(t.Context(), path)
	check(t, err)
	for _, b := range upgradeBooks() {
		check(t, store.Create(t.Context(), &b))
	}
	check(t, store.Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), "VACUUM INTO ?", path+".small")
	check(t, err)
	check(t, db.Close())
	data, err := os.ReadFile(path + ".small")
	check(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(data)
	check(t, err)
	check(t, w.Close())
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, packed.Bytes(), 0o644))
}

func unpack(t *testing.T, file, path string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatalf("%v: go test ./bookcatalog/sqlstore/sqlite -run TestUpgrade -update writes that of the newest schema", err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	check(t, err)
	data, err := io.ReadAll(r)
	check(t, err)
	check(t, os.WriteFile(path, data, 0o600))
}

// checkUpgraded opens the file twice, as the second time there is nothing to migrate.
func checkUpgraded(t *testing.T, path string) {
	t.Helper()
	for range 2 {
		store, err := sqlite.Open(t.Context(), path)
		check(t, err)
		books, total, err := store.List(t.Context(), &bookcatalog.Query{})
		if err != nil || total != 2 || !reflect.DeepEqual(books, upgradeBooks()) {
			t.Errorf("the books are\n%+v, %d, %v; want\n%+v", books, total, err, upgradeBooks())
		}
		check(t, store.Close())
	}
	store := open(t, path)
	catalog := bookcatalog.New(store, nil)
	if _, err := catalog.Add(t.Context(), &bookcatalog.Book{Title: "Emma", ISBN: "9780141439587"}); bookcatalog.KindOf(err) != bookcatalog.Conflict {
		t.Errorf("a second book with the same ISBN: %v", err)
	}
	if _, err := catalog.Add(t.Context(), &bookcatalog.Book{Title: "Persuasion"}); err != nil {
		t.Errorf("a new book: %v", err)
	}
	check(t, store.Delete(t.Context(), upgradeBooks()[0].ID, 2))
	if _, total, err := store.List(t.Context(), &bookcatalog.Query{}); err != nil || total != 2 {
		t.Errorf("%d books, %v; want 2", total, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
