package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// The packages below open databases and end here. A program that has its own pool of
// connections makes the store over it.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("pgx", "postgres://jane@db.example/inventory")
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := sqlstore.New(ctx, db, db, postgres.Dialect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
}
