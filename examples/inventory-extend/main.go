// Command inventory-extend adds cabinets to the inventory, and the cabinet of each device.
//
//	go run ./examples/inventory-extend
//	curl localhost:8006/cabinets -H 'X-User: facility' -H 'Content-Type: application/json' -d '{"name":"r1","units":42}'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

type Cabinet struct { // a record that the inventory does not have
	records.Base
	Name  string `json:"name" field:"required,unique,max=50,search"`
	Units int64  `json:"units" field:"required,min=1,max=60,index"`
}

func (r *Cabinet) Normalize() { r.Name = strings.ToUpper(r.Name) } // a hook: records.Normalizer

func routes(ctx context.Context, file string) (http.Handler, error) {
	schema, err := inventory.NewSchema(
		records.Define[Cabinet](records.Definition{Name: "cabinets", Label: "Cabinet", Order: []string{"name:asc"}}),
		records.Extend("devices", "cabinet_id", records.Text, "ref=cabinets:null"),
	)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, file, schema, nil) // adds the table and the column
	if err != nil {
		return nil, err
	}
	return httpapi.New(records.New(store, nil), users{}, &httpapi.Options{
		Permit: func(_ *http.Request, who *auth.Identity, r *records.Resource, _ records.Routes, denied error) error {
			if r.Name == "cabinets" && who.Username == "facility" {
				return nil
			}
			return denied
		},
	})
}

type users struct{} // trusts the name that a proxy sends

func (users) Authenticate(r *http.Request) (*auth.Identity, error) {
	name := r.Header.Get("X-User")
	return &auth.Identity{Username: name, Role: map[string]auth.Role{"admin": auth.Admin}[name]}, nil
}

func main() {
	addr, file := flag.String("addr", "localhost:8006", "listen on `host:port`"), flag.String("file", ":memory:", "the `database`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := routes(ctx, *file)
	if err == nil {
		var l net.Listener
		if l, err = net.Listen("tcp", *addr); err == nil {
			fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/cabinets -H 'X-User: facility'\n\n", l.Addr())
			err = httpx.Serve(ctx, l, handler, nil)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
