package featuretest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// Object is a JSON object.
type Object = map[string]any

// Unknown is an id of no record.
const Unknown = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"

// OnStores runs a test on an API with a feature over a store in memory, and on one over a database.
func OnStores(t *testing.T, test func(t *testing.T, g *API), newFeature func() *feature.Feature) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, nil, newFeature()))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		of := newFeature()
		schema, err := inventory.NewSchema(feature.Parts(of)...)
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlite.Open(t.Context(), sqlite.Memory, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, New(t, store, of))
	})
}

// Read returns the object of a response.
func Read(t testing.TB, w *httpxtest.Response) (doc Object) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%s is not an object: %v", w.Body, err)
	}
	return doc
}

// Data returns the records of a response with a list.
func Data(t testing.TB, w *httpxtest.Response) []Object {
	t.Helper()
	var page struct {
		Meta Object
		Data []Object
	}
	w.Want(200).JSON(&page)
	if page.Data == nil {
		t.Errorf("data is null in %s", w.Body)
	}
	return page.Data
}

// With returns an object with other members, given as name, value; nil removes one.
func With(o Object, pairs ...any) Object {
	changed := maps.Clone(o)
	for i := 0; i+1 < len(pairs); i += 2 {
		if changed[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(changed, pairs[i].(string))
		}
	}
	return changed
}

// Path returns the path of a record.
func Path(list string, rec Object) string { return list + "/" + rec["id"].(string) }

// Device returns a device with the fields that are required, and some more.
func Device(hostname string) Object {
	return Object{"hostname": hostname, "ip": "192.0.2.1", "model": "QFX5120", "vendor": "Juniper", "os": "Junos", "status": "active"}
}

// Location returns a location with some fields.
func Location(name string) Object {
	return Object{"name": name, "city": "Berlin", "country": "DE", "address": "Allee 1"}
}

// Port returns an interface of a device.
func Port(device any, name string) Object {
	return Object{"device_id": device, "name": name, "type": "fiber"}
}

// Entries returns the entries of the audit log, without those of the users that New has created.
func (a *API) Entries() (all []*records.AuditLog) {
	a.t.Helper()
	page, err := a.Store.List(a.t.Context(), &records.Query{Resource: records.Of[records.AuditLog](a.Store.Schema())})
	a.check(err)
	for _, rec := range page.Records {
		if e := rec.(*records.AuditLog); e.Actor != "test" {
			all = append(all, e)
		}
	}
	return all
}

// Last returns the last of Entries.
func (a *API) Last() *records.AuditLog {
	a.t.Helper()
	all := a.Entries()
	if len(all) == 0 {
		a.t.Fatal("the audit log is empty")
	}
	return all[len(all)-1]
}

// Ports creates interfaces of a device, and returns their paths and ids by name.
func (a *API) Ports(device any, names ...string) (paths, ids map[string]string) {
	a.t.Helper()
	paths, ids = map[string]string{}, map[string]string{}
	for _, name := range names {
		rec := a.Create("/interfaces", Port(device, name))
		paths[name], ids[name] = Path("/interfaces", rec), rec["id"].(string)
	}
	return paths, ids
}

// Patch changes a record. The status is 200, or that of an error with some words.
func Patch(c *httpxtest.Client, path string, change Object, status int, words string) {
	if w := c.Send("PATCH", path, change); status == 200 {
		w.Want(200)
	} else {
		w.WantError(status, words)
	}
}

// Along returns the entries of the audit log with a cause, in order.
func (a *API) Along(cause string) string {
	a.t.Helper()
	var all []string
	for _, e := range a.Entries() {
		if e.Cause == cause {
			all = append(all, e.Action+" "+e.ResourceType+"/"+e.ResourceID)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
