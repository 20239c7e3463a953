package inventory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// at returns a time n minutes into a day.
func at(n int) time.Time { return time.Date(2026, 1, 31, 12, n, 0, 0, time.UTC) }

func id(n int) string { return fmt.Sprintf("018f4c2e-7b1a-7c3d-9e4f-%012d", n) }

func ptr[T any](v T) *T { return &v }

func device(hostname string) *inventory.Device {
	d := &inventory.Device{
		Hostname: hostname, IP: "192.0.2.1", Model: "QFX5120", Vendor: "Juniper", OS: "Junos", Status: inventory.DeviceActive,
	}
	d.Normalize() // sets its key
	return d
}

func location(name string) *inventory.Location {
	return &inventory.Location{Name: name, City: "Berlin", Country: "DE", Address: "Allee 1"}
}

func port(device, name string) *inventory.Interface {
	return &inventory.Interface{DeviceID: device, Name: name, Type: "fiber"}
}

func patch(t *testing.T, doc string) records.Patch {
	t.Helper()
	var p records.Patch
	if err := json.Unmarshal([]byte(doc), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// fields returns the names of the fields of an error, which must be of the kind.
func fields(t *testing.T, err error, kind records.ErrorKind) []string {
	t.Helper()
	e, ok := errors.AsType[*records.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("the error is %v of kind %v, want kind %v", err, records.KindOf(err), kind)
	}
	var names []string
	for _, f := range e.Fields {
		names = append(names, f.Field)
		if f.Reason == "" || !slices.Contains(errcode.Fields(), f.Code) {
			t.Errorf("%s has the code %q and the reason %q", f.Field, f.Code, f.Reason)
		}
	}
	slices.Sort(names)
	return names
}

// codes returns the fields of an error with their codes, such as "ip:bad_format".
func codes(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*records.Error](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	fields(t, err, e.Kind)
	var all []string
	for _, f := range e.Fields {
		all = append(all, f.Field+":"+f.Code)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func isKind(t *testing.T, err error, kind records.ErrorKind) {
	t.Helper()
	if records.KindOf(err) != kind {
		t.Fatalf("the error is %v of kind %v, want kind %v", err, records.KindOf(err), kind)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%+v, want\n%+v", what, got, want)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// schema is the schema of the tests.
var schema = inventory.Schema()

// resourceOf returns the resource of a record.
func resourceOf(rec records.Record) *records.Resource {
	r, err := schema.Of(rec)
	if err != nil {
		panic(err)
	}
	return r
}
