package postgres_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// Changes go to the one database, and lists are read from one that follows it. Here nobody
// listens at the addresses. Open tells that at once, by the kind of its error, and says
// where it has asked; the password is not in it.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://jane:hunter2@127.0.0.1:1/inventory?sslmode=disable", &postgres.Options{
		ReadURL: "postgres://jane:hunter2@127.0.0.1:1/replica?sslmode=disable",
	})
	if err != nil {
		fmt.Println("try again later:", inventory.KindOf(err) == inventory.Unavailable)
		fmt.Println("where:", strings.Contains(err.Error(), "127.0.0.1:1"))
		fmt.Println("password:", strings.Contains(err.Error(), "hunter2"))
		return
	}
	defer store.Close()
	page, err := store.List(ctx, &inventory.Query{Resource: inventory.Of[inventory.Device](), Limit: 10})
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
