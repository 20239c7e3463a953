// Command inventory-store uses the inventory without HTTP. It imports devices in one transaction,
// queries them, and reads the audit log.
//
//	go run ./examples/inventory-store
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	store, err := sqlite.Open(ctx, ":memory:", inventory.Schema(), nil) // or a file; postgres.Open for a server
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	network := records.New(store, nil)
	importer := records.Caller{Name: "importer"}

	// All records are created atomically: one invalid record fails the whole call.
	switches := []records.Record{device("ber1-sw-1", "192.0.2.1"), device("ber1-sw-2", "192.0.2.256")}
	if err := network.Create(ctx, importer, switches...); err != nil {
		fmt.Println("refused:", err)
	}
	switches[1] = device("ber1-sw-2", "192.0.2.2")
	if err := network.Create(ctx, importer, switches...); err != nil {
		return err
	}

	// A query can be parsed from the parameters of the API, or be built as a struct.
	query, err := records.ParseQuery(records.Of[inventory.Device](store.Schema()), url.Values{
		"hostname__startswith": {"ber1-"}, "status": {"active"}, "sortby": {"hostname:desc"},
	})
	if err != nil {
		return err
	}
	page, err := store.List(ctx, query)
	if err != nil {
		return err
	}
	for _, rec := range page.Records {
		d := rec.(*inventory.Device)
		fmt.Println(d.Hostname, d.IP, d.Status)
	}

	entries, err := store.List(ctx, &records.Query{Resource: records.Of[records.AuditLog](store.Schema()), Count: true})
	if err != nil {
		return err
	}
	first := entries.Records[0].(*records.AuditLog)
	fmt.Printf("%d entries in the log, the first: %s %s %s\n", entries.Total, first.Actor, first.Action, first.ResourceType)
	return nil
}

func device(hostname, ip string) *inventory.Device {
	return &inventory.Device{Hostname: hostname, IP: ip, Model: "EX4300", Vendor: "Juniper", OS: "Junos", Status: "active"}
}
