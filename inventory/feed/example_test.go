package feed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A program follows the changes of the devices, and stops after the second one.
func ExampleFollow() {
	ctx := context.Background()
	server, token, store := serve(ctx)
	defer server.Close()
	since, err := feed.Cursor(ctx, server.URL, token, nil) // store it with a list of all records
	if err != nil {
		fmt.Println(err)
		return
	}
	by, engine := records.Caller{Name: "jane"}, records.New(store, nil)
	for _, name := range []string{"core-1", "core-2"} {
		if err := engine.Create(ctx, by, &inventory.Device{Hostname: name, Status: inventory.DeviceActive}); err != nil {
			fmt.Println(err)
			return
		}
	}
	errEnough := errors.New("enough")
	err = feed.Follow(ctx, server.URL, token, since, &feed.Options{Resources: []string{"devices"}}, func(c feed.Change) error {
		fmt.Println(c.Actor, c.Action, c.ResourceType, c.Changes["hostname"].After)
		since = c.Cursor // store it with the change
		if c.Changes["hostname"].After == "core-2" {
			return errEnough
		}
		return nil
	})
	if gone, ok := errors.AsType[*feed.GoneError](err); ok {
		fmt.Println(gone) // read the cursor, list all records, and follow again
	}
	fmt.Println(err)
	// Output:
	// jane create device core-1
	// jane create device core-2
	// enough
}

// serve starts an inventory in memory, and returns its server, the token of a user, and its store.
func serve(ctx context.Context) (server *httptest.Server, token string, store records.Store) {
	store = records.NewMemStore(inventory.Schema())
	viewer := &inventory.User{Username: "viewer", Email: "viewer@example.com", Role: inventory.Viewer, PasswordHash: "none"}
	if err := records.New(store, nil).Create(ctx, records.Caller{Name: "jane"}, viewer); err != nil {
		panic(err)
	}
	tokens, _ := auth.NewTokens([][]byte{make([]byte, 32)}, nil)
	token, _, _ = tokens.Issue(auth.Identity{UserID: viewer.ID, Username: viewer.Username, Role: auth.Role(viewer.Role)})
	guard, _ := auth.NewGuard(tokens, httpapi.NewAccountStates(store), nil)
	api, err := httpapi.New(store, guard, nil)
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(api), token, store
}
