package postgres_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// Changes go to the first database, and lists are read from its replica. Nothing listens at
// these addresses: the kind of the error says so, and its message names the address without the
// password.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://jane:hunter2@127.0.0.1:1/inventory?sslmode=disable", inventory.Schema(), &postgres.Options{
		ReadURL: "postgres://jane:hunter2@127.0.0.1:1/replica?sslmode=disable",
	})
	if err != nil {
		fmt.Println("try again later:", records.KindOf(err) == records.Unavailable)
		fmt.Println("where:", strings.Contains(err.Error(), "127.0.0.1:1"))
		fmt.Println("password:", strings.Contains(err.Error(), "hunter2"))
		return
	}
	defer store.Close()
	page, err := store.List(ctx, &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Records))
	// Output:
	// try again later: true
	// where: true
	// password: false
}

// The program shares its pool with the inventory, whose tables are in the schema inventory. Nothing listens at this
// address.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://jane:hunter2@127.0.0.1:1/program?sslmode=disable")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	store, err := postgres.New(ctx, db, inventory.Schema(), &sqlstore.Options{Namespace: "inventory"})
	if err != nil {
		fmt.Println("try again later:", records.KindOf(err) == records.Unavailable)
		return
	}
	defer store.Close() // db and pool stay open
	// Output: try again later: true
}
