package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
)

// What one process has added, the next one finds.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "books")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "books.db")

	store, err := sqlite.Open(ctx, path) // makes the file and its tables
	if err != nil {
		fmt.Println(err)
		return
	}
	emma, err := bookcatalog.New(store, nil).Add(ctx, &bookcatalog.Book{Title: "Emma"})
	fmt.Println(err)
	fmt.Println(store.Close())

	store, err = sqlite.Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	found, err := bookcatalog.New(store, nil).Get(ctx, emma.ID)
	fmt.Println(found.Title, found.Version, err)
	// Output:
	// <nil>
	// <nil>
	// Emma 1 <nil>
}
