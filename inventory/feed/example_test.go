package feed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A program follows the changes of the devices, and stops after the second one.
func ExampleFollow() {
	ctx := context.Background()
	server, token, engine, err := serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	since, err := feed.Cursor(ctx, server.URL, token, nil) // store it with a list of all records
	if err != nil {
		fmt.Println(err)
		return
	}
	by := records.Caller{Name: "jane"}
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

// A program follows the changes of devices in its own process, and continues after the last change that it has handled.
func ExampleChanges() {
	ctx := context.Background()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	since := "0" // all changes that are kept
	for _, name := range []string{"core-1", "core-2"} {
		if err := engine.Create(ctx, records.Caller{Name: "jane"}, &inventory.Device{Hostname: name}); err != nil {
			fmt.Println(err)
			return
		}
		for c, err := range feed.Changes(ctx, engine.Store(), since, "devices") {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(c.Actor, c.Action, c.ResourceType, c.Changes["hostname"].After)
			since = c.Cursor // store it with what was done for the change
			break            // a program would go on
		}
	}
	// Output:
	// jane create device core-1
	// jane create device core-2
}

// users finds the sender of a request by their token.
type users map[string]auth.Identity

func (u users) Authenticate(r *http.Request) (*auth.Identity, error) {
	if who, ok := u[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; ok {
		return &who, nil
	}
	return nil, auth.Unauthorized(auth.TokenMissing, "")
}

// serve starts an inventory in memory, and returns its server, the token of a user, and its engine.
func serve() (server *httptest.Server, token string, engine *records.Engine, err error) {
	engine = records.New(records.NewMemStore(inventory.Schema()), nil)
	api, err := httpapi.New(engine, users{"secret": {UserID: "viewer", Username: "viewer", Role: auth.Viewer}}, nil)
	return httptest.NewServer(api), "secret", engine, err
}
