package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Device and Contract are the records of the examples.
type Device struct {
	records.Base
	Hostname string `json:"hostname" field:"required,unique,max=100,search,index"`
	Status   string `json:"status" field:"values=active|offline,default=active,counted"`
}

type Contract struct {
	records.Base
	DeviceID string `json:"device_id" field:"required,ref=devices:cascade"`
	Customer string `json:"customer" field:"required,max=100"`
	Ends     string `json:"ends" field:"required,format=date"`
}

var jane = records.Caller{Name: "jane"}

// open returns an engine for devices and contracts, and what a program adds to them.
func open(more ...records.Part) *records.Engine {
	schema, err := records.NewSchema(append([]records.Part{
		records.Define[Device](records.Definition{Name: "devices", Label: "Device"}),
		records.Define[Contract](records.Definition{Name: "contracts", Label: "Contract"}),
	}, more...)...)
	if err != nil {
		panic(err) // a mistake in the program
	}
	return records.New(records.NewMemStore(schema), nil)
}

// A program has records of its own: they are created, found and changed, and the audit log says by whom.
func Example() {
	ctx := context.Background()
	schema, err := records.NewSchema(records.Define[Device](records.Definition{Name: "devices", Label: "Device"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	store := records.NewMemStore(schema) // or sqlite.Open, postgres.Open
	engine := records.New(store, nil)
	err = engine.Create(ctx, jane, &Device{Hostname: "core-1"}, &Device{Hostname: "core-2", Status: "offline"})
	fmt.Println(err)
	err = engine.Create(ctx, jane, &Device{Hostname: "core-1"})
	conflict, _ := errors.AsType[*records.Error](err)
	fmt.Println(conflict.Fields[0].Field, conflict.Code, conflict.Holder.(*Device).Hostname)

	found, err := records.Select[Device](ctx, store, &records.Query{}, "status", "active")
	fmt.Println(found[0].Hostname, found[0].Version, err)
	log, err := records.Select[records.AuditLog](ctx, store, &records.Query{})
	fmt.Println(len(log), log[0].Actor, log[0].Action, log[0].ResourceType, err)
	// Output:
	// <nil>
	// hostname not_unique core-1
	// core-1 1 <nil>
	// 2 jane create device <nil>
}

// A device with a running contract can't be deleted.
func ExampleOnChange() {
	type Device struct {
		records.Base
		Hostname string `json:"hostname" field:"required,unique,max=100"`
	}
	type Contract struct {
		records.Base
		DeviceID string `json:"device_id" field:"required,ref=devices:cascade"`
		Customer string `json:"customer" field:"required,max=100"`
		Ends     string `json:"ends" field:"required,format=date"`
	}
	keep := func(ctx context.Context, tx records.Tx, before, after records.Record) error {
		if after != nil {
			return nil // not a deletion
		}
		running, err := records.First[Contract](ctx, tx, "device_id", before.Meta().ID, "ends", records.Condition{Op: records.Gte, Value: "2026-01-31"})
		if running != nil {
			return &records.Error{Kind: records.Conflict, Message: "The device has a running contract with " + running.Customer}
		}
		return err
	}
	schema, err := records.NewSchema(
		records.Define[Device](records.Definition{Name: "devices", Label: "Device"}),
		records.Define[Contract](records.Definition{Name: "contracts", Label: "Contract"}),
		records.OnChange("devices", keep),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, by, engine := context.Background(), records.Caller{Name: "jane"}, records.New(records.NewMemStore(schema), nil)
	device := &Device{Hostname: "core-1"}
	fmt.Println(engine.Create(ctx, by, device))
	fmt.Println(engine.Create(ctx, by, &Contract{DeviceID: device.ID, Customer: "Globex", Ends: "2026-12-31"}))
	fmt.Println(engine.Delete(ctx, by, records.Of[Device](schema), records.Edit{ID: device.ID}))
	// Output:
	// <nil>
	// <nil>
	// The device has a running contract with Globex
}

// What was committed is posted to another program. The hook only notes it; a goroutine posts.
func ExampleAfterCommit() {
	type Device struct {
		records.Base
		Hostname string `json:"hostname" field:"required,unique,max=100"`
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { fmt.Println("received", r.FormValue("text")) }))
	defer other.Close()

	events := make(chan string, 100)
	note := func(_ context.Context, entries []*records.AuditLog) {
		for _, e := range entries {
			select {
			case events <- e.Actor + ": " + e.Action + " " + e.ResourceType:
			default: // the other program is too slow: it continues by the feed of changes
			}
		}
	}
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		for event := range events {
			if res, err := http.PostForm(other.URL, url.Values{"text": {event}}); err == nil {
				res.Body.Close()
			}
		}
	}()
	schema, err := records.NewSchema(records.Define[Device](records.Definition{Name: "devices", Label: "Device"}), records.AfterCommit(note))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, by, engine := context.Background(), records.Caller{Name: "jane"}, records.New(records.NewMemStore(schema), nil)
	fmt.Println(engine.Create(ctx, by, &Device{})) // is not committed
	if err := engine.Create(ctx, by, &Device{Hostname: "core-1"}); err != nil {
		fmt.Println(err)
	}
	close(events)
	<-posted
	// Output:
	// Invalid device: hostname must not be empty
	// received jane: create device
}

// A field that a program adds to the records of others is in Extra. It has filters, checks and a column as all others.
func ExampleExtend() {
	ctx, engine := context.Background(), open(records.Extend("devices", "cost_centre", records.Text, "max=4"))
	device := &Device{Hostname: "core-1"}
	device.Extra = map[string]any{"cost_centre": "4711"}
	fmt.Println(engine.Create(ctx, jane, device))
	device.Extra = map[string]any{"cost_centre": "47110"}
	fmt.Println(engine.Create(ctx, jane, device))
	found, err := records.First[Device](ctx, engine.Store(), "cost_centre", "4711")
	fmt.Println(found.Hostname, found.Extra["cost_centre"], err)
	// Output:
	// <nil>
	// Invalid device: cost_centre must have at most 4 characters
	// core-1 4711 <nil>
}

// A list has filters, an order and pages, as the API has them.
func ExampleParseQuery() {
	ctx, engine := context.Background(), open()
	err := engine.Create(ctx, jane, &Device{Hostname: "edge-1"}, &Device{Hostname: "core-2"}, &Device{Hostname: "core-1"})
	fmt.Println(err)
	devices := records.Of[Device](engine.Store().Schema())
	query, err := records.ParseQuery(devices, url.Values{"hostname__startswith": {"core-"}, "sortby": {"hostname:asc"}, "limit": {"1"}})
	fmt.Println(err)
	page, err := engine.Store().List(ctx, query)
	fmt.Println(page.Records[0].(*Device).Hostname, page.Total, page.More, err)
	_, err = records.ParseQuery(devices, url.Values{"hostnam": {"core-1"}})
	fmt.Println(records.KindOf(err) == records.Invalid, strings.Contains(err.Error(), "did you mean hostname?"))
	// Output:
	// <nil>
	// <nil>
	// core-1 2 true <nil>
	// true true
}

// All iterates over every record of a query, page by page.
func ExampleAll() {
	ctx, engine := context.Background(), open()
	fmt.Println(engine.Create(ctx, jane, &Device{Hostname: "core-1"}, &Device{Hostname: "core-2"}))
	devices := records.Of[Device](engine.Store().Schema())
	for rec, err := range records.All(ctx, engine.Store(), &records.Query{Resource: devices}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rec.(*Device).Hostname)
	}
	// Output:
	// <nil>
	// core-1
	// core-2
}

// A change is made by a function, or as a patch in JSON. With a version it is refused if somebody else was faster.
func ExampleEngine_Update() {
	ctx, engine := context.Background(), open()
	device := &Device{Hostname: "core-1"}
	fmt.Println(engine.Create(ctx, jane, device))
	devices := records.Of[Device](engine.Store().Schema())
	patch := devices.Patch(records.Patch{"status": json.RawMessage(`"offline"`)})
	changed, err := engine.Update(ctx, jane, devices, records.Edit{ID: device.ID, Version: device.Version, Apply: patch})
	fmt.Println(changed[0].(*Device).Status, changed[0].Meta().Version, err)
	rename := func(rec records.Record) error {
		rec.(*Device).Hostname = "core-9"
		return nil
	}
	_, err = engine.Update(ctx, jane, devices, records.Edit{ID: device.ID, Version: device.Version, Apply: rename})
	fmt.Println(records.KindOf(err) == records.Stale, err)
	// Output:
	// <nil>
	// offline 2 <nil>
	// true The device has changed since it was read: read it again
}

// A dry run validates a change, commits nothing, and says what it would change.
func ExampleEngine_DryRun() {
	ctx, engine := context.Background(), open()
	device := &Device{Hostname: "core-1"}
	fmt.Println(engine.Create(ctx, jane, device))
	fmt.Println(engine.Create(ctx, jane, &Contract{DeviceID: device.ID, Customer: "Globex", Ends: "2026-12-31"}))
	preview := &records.Preview{}
	devices := records.Of[Device](engine.Store().Schema())
	fmt.Println(engine.DryRun(preview).Delete(ctx, jane, devices, records.Edit{ID: device.ID}))
	for _, e := range preview.Changes {
		fmt.Println(e.Action, e.ResourceType)
	}
	left, err := records.Count(ctx, engine.Store(), &records.Query{Resource: devices})
	fmt.Println(left, err)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// delete device
	// delete contract
	// 1 <nil>
}

// Several calls are one transaction.
func ExampleEngine_Together() {
	ctx, engine := context.Background(), open()
	err := engine.Together(ctx, func(ctx context.Context, in *records.Engine) error {
		device := &Device{Hostname: "core-1"}
		if err := in.Create(ctx, jane, device); err != nil {
			return err
		}
		return in.Create(ctx, jane, &Contract{DeviceID: device.ID, Customer: "Globex", Ends: "soon"})
	})
	fmt.Println(err)
	devices, err := records.Count(ctx, engine.Store(), &records.Query{Resource: records.Of[Device](engine.Store().Schema())})
	fmt.Println(devices, err)
	// Output:
	// Invalid contract: ends must be a date such as 2026-01-31
	// 0 <nil>
}

// A hook refuses a value as the engine does: with the field, a code for programs, and a sentence for people.
func ExampleRefuse() {
	ctx, engine := context.Background(), open(records.OnChange("devices", func(_ context.Context, _ records.Tx, _, after records.Record) error {
		if d, ok := after.(*Device); ok && !strings.HasPrefix(d.Hostname, "core-") {
			return records.Refuse("hostname", records.Wrong("bad_format", "must begin with core-"))
		}
		return nil
	}))
	err := engine.Create(ctx, jane, &Device{Hostname: "edge-1"})
	refused, _ := errors.AsType[*records.Error](err)
	fmt.Println(err)
	fmt.Println(refused.Kind == records.Invalid, refused.Fields[0].Field, refused.Fields[0].Code)
	// Output:
	// hostname must begin with core-
	// true hostname bad_format
}
