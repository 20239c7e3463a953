package postgres_test

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// Changes go to the one database, and lists are read from one that follows it.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://jane:secret@db.example/inventory", &postgres.Options{
		ReadURL: "postgres://jane:secret@replica.example/inventory",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	page, err := store.List(ctx, &inventory.Query{Resource: inventory.Of[inventory.Device](), Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Records))
}
