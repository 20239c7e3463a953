package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
)

// A program that has a database already brings its own handle, here one for writing and
// for reading. The dialect of package sqlite comes with the driver "sqlite"; that of
// another database is a value to write.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "books")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(dir, "shop.db"))}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	db.SetMaxOpenConns(1) // SQLite has one writer at a time

	store, err := sqlstore.New(ctx, db, db, sqlite.Dialect())
	if err != nil {
		fmt.Println(err, db.Close())
		return
	}
	defer store.Close() // and with it db
	_, err = bookcatalog.New(store, nil).Add(ctx, &bookcatalog.Book{Title: "Emma"})
	fmt.Println(err)

	var title string
	err = db.QueryRowContext(ctx, "SELECT title FROM books").Scan(&title)
	fmt.Println(title, err)
	// Output:
	// <nil>
	// Emma <nil>
}
