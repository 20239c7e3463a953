package main

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

const finance = "finance" // a role of the program

// Warranty is a record of the inventory that only this program has.
type Warranty struct {
	records.Base
	DeviceID string `json:"device_id" field:"required,ref=devices:cascade"`
	Provider string `json:"provider" field:"required,max=100,search"`
	Ends     string `json:"ends" field:"required,format=date"`
}

// openInventory returns the inventory in the database of the program.
func openInventory(ctx context.Context, db *sql.DB, events chan<- string) (*sqlstore.Store, error) {
	schema, err := inventory.NewSchema(
		inventory.Roles(finance),
		records.Extend("devices", "cost_centre", records.Text, "max=20,index,search"),
		records.Define[Warranty](records.Definition{Name: "warranties", Label: "Warranty"}),
		records.ExtendChildren("devices", records.Child{Path: "warranties", From: "warranties", Field: "device_id"}),
		records.OnChange("devices", keepDevice),
		records.OnChange("devices", rename),
		records.AfterCommit(announce(events)),
	)
	if err != nil {
		return nil, err
	}
	return sqlite.New(ctx, db, schema, &sqlstore.Options{Namespace: "inventory"})
}

// routes serves the contracts, the inventory below /network, and its pages below /console. The store is to be closed before
// the database.
func routes(ctx context.Context, db *sql.DB, events chan<- string) (http.Handler, *sqlstore.Store, error) {
	store, err := openInventory(ctx, db, events)
	if err != nil {
		return nil, nil, err
	}
	p := &program{db}
	network, err := httpapi.New(records.New(store, nil), p, nil)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	pages, err := console.New(network, &console.Options{Prefix: "/console"})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("POST /contracts", httpx.HandlerFunc(p.addContract))
	mux.Handle("/network/", http.StripPrefix("/network", network))
	mux.Handle("/console/", http.StripPrefix("/console", pages))
	return http.NewCrossOriginProtection().Handler(mux), store, nil // browsers send passwords with forms of other pages too
}
