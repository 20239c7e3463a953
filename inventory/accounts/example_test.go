package accounts_test

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A login without HTTP, and a change that ends with the rights of the user.
func ExampleNew() {
	ctx, engine := context.Background(), records.New(records.NewMemStore(inventory.Schema()), nil)
	hasher, _ := auth.NewHasher(nil)
	const password = "four words and a number"
	_, _, _ = accounts.FirstAdmin(ctx, engine, hasher, "admin", password)
	service, err := accounts.New(engine, hasher, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	network := "192.0.2.1"
	_, err = service.Login(ctx, &accounts.Request{Network: network}, "admin", "a guess")
	fmt.Println(err)

	who, err := service.Login(ctx, &accounts.Request{Network: network}, "admin", password)
	fmt.Println(who.Role, err)
	q := &accounts.Request{Identity: who, Network: network}
	berlin := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
	fmt.Println(service.Changes(q).Create(ctx, q.Caller(), berlin))
	fmt.Println(service.Logout(ctx, q, false))
	fmt.Println(service.Changes(q).Create(ctx, q.Caller(), berlin))
	// Output:
	// Invalid credentials
	// admin <nil>
	// <nil>
	// <nil>
	// Unauthorized: Invalid or expired token: the session has ended
}
