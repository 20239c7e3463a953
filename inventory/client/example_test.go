package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// A program logs in, creates a device, changes it, lists devices and follows the changes.
func Example() {
	address, stop, err := start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	if err := manage(context.Background(), address); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sw1 active 1
	// sw1 offline 2
	// create device by admin
}

func manage(ctx context.Context, address string) error {
	anonymous, err := client.New(address, nil)
	if err != nil {
		return err
	}
	token, err := anonymous.Login(ctx, "admin", "four words and a number", "")
	if err != nil {
		return err
	}
	c, err := client.New(address, &client.Options{Token: token})
	if err != nil {
		return err
	}
	cursor, err := c.Cursor(ctx)
	if err != nil {
		return err
	}
	d, err := client.Create(ctx, c, &inventory.Device{Hostname: "sw1", Vendor: "Acme"})
	if err != nil {
		return err
	}
	fmt.Println(d.Hostname, d.Status, d.Version)

	d.Status = inventory.DeviceOffline
	if _, err = client.Replace(ctx, c, d); err != nil { // with the Status 412 if somebody else has changed it
		return err
	}
	for d, err := range client.List[inventory.Device](ctx, c, url.Values{"status": {"offline"}, "sortby": {"hostname:asc"}}) {
		if err != nil {
			return err
		}
		fmt.Println(d.Hostname, d.Status, d.Version)
	}
	for change, err := range c.Changes(ctx, cursor, "devices") {
		if err != nil {
			return err
		}
		fmt.Println(change.Action, change.ResourceType, "by", change.Actor)
		break
	}
	return nil
}

// start serves an empty inventory.
func start() (address string, stop func(), err error) {
	settings, err := server.Parse(map[string]string{"DATABASE_URL": ":memory:", "ADMIN_PASSWORD": "four words and a number"}, nil)
	if err != nil {
		return "", nil, err
	}
	srv, err := server.New(context.Background(), settings, &server.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", nil, err
	}
	front := httptest.NewServer(srv.Handler())
	return front.URL, func() {
		front.CloseClientConnections()
		front.Close()
		_ = srv.Close()
	}, nil
}
