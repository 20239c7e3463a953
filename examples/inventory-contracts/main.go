// Command inventory-contracts is a program with contracts about devices, which keeps an inventory in its own database: its
// tables users and contracts are beside those of the inventory, inventory_users and others.
//
//	go run ./examples/inventory-contracts
//	curl -u jane:secret localhost:8009/network/devices -H 'Content-Type: application/json' \
//	  -d '{"hostname":"core-1","ip":"192.0.2.1","model":"MX204","vendor":"Juniper","os":"Junos","status":"active"}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/ashlar-go/ashlar/httpx"
)

func run(ctx context.Context, addr, file string) (err error) {
	db, err := open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	events := make(chan string, 100)
	defer close(events) // after Serve has returned
	go func() {
		for event := range events { // a real program would send messages
			log.Print(event)
		}
	}()
	handler, store, err := routes(ctx, db, events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Open /console/ there as jane with the password secret. Try:\n\n  curl -i -u jane:secret http://%[1]s/network/warranties\n\n", l.Addr())
	return httpx.Serve(ctx, l, handler, nil)
}

func main() {
	addr, file := flag.String("addr", "localhost:8009", "listen on `host:port`"), flag.String("file", ":memory:", "the `database`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *file); err != nil {
		log.Fatal(err)
	}
}
