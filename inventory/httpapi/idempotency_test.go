package httpapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const idempotency = "Idempotency-Key"

// TestIdempotency checks that a repeated request with the same key is executed once and has
// the same response.
func TestIdempotency(t *testing.T) { stores(t, scaletest.Unraced, idempotent) }

func idempotent(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	for _, body := range []any{device("core-1"), []object{device("a"), device("b")}} {
		first := c.Send("POST", "/devices", body, idempotency, "k-"+fmt.Sprintf("%T", body)).Want(201).WantHeader("Idempotent-Replayed", "")
		again := c.Send("POST", "/devices", body, idempotency, "k-"+fmt.Sprintf("%T", body)).Want(201).WantHeader("Idempotent-Replayed", "true")
		for _, name := range []string{"Location", "ETag", "Content-Type"} {
			again.WantHeader(name, first.Header().Get(name))
		}
		if first.Body.String() != again.Body.String() {
			t.Errorf("first %s, then %s", first.Body, again.Body)
		}
	}
	if n := g.count(records.Of[inventory.Device](builtIn)); n != 3 {
		t.Errorf("there are %d devices", n)
	}
	if n := len(g.entries()); n != 3 {
		t.Errorf("there are %d entries", n)
	}
	c.Send("POST", "/devices", device("core-2"), idempotency, "k-map[string]interface {}").
		WantError(http.StatusUnprocessableEntity, "already another")
	c.Send("POST", "/locations", location("Berlin"), idempotency, "k-map[string]interface {}").Want(422)
	// Another user may use the same key.
	g.as("second").Send("POST", "/devices", device("core-3"), idempotency, "k-map[string]interface {}").Want(201)
}

// TestIdempotencyOfUsers checks that nothing is stored from which a password could be guessed.
func TestIdempotencyOfUsers(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	first := c.Send("POST", "/users", user("jane"), idempotency, "k").Want(201)
	again := c.Send("POST", "/users", with(user("jane"), "password", another), idempotency, "k").Want(201).WantHeader("Idempotent-Replayed", "true")
	if first.Body.String() != again.Body.String() {
		t.Errorf("first %s, then %s", first.Body, again.Body)
	}
	c.Send("POST", "/users", with(user("jane"), "role", "admin"), idempotency, "k").Want(422)
	c.Send("POST", "/users", []object{user("a"), user("b")}, idempotency, "l").Want(201)
	c.Send("POST", "/users", []object{user("a"), user("b")}, idempotency, "l").WantHeader("Idempotent-Replayed", "true")
	g.login(t, "jane", password).Want(200)
}

// TestIdempotencyOfFailures checks that a failed request may be repeated with the same key.
func TestIdempotencyOfFailures(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	d := g.create("/devices", device("core-1"))
	c.Send("POST", "/devices", device("core-1"), idempotency, "k").WantError(409, "Hostname")
	g.as("root").Send("DELETE", path("/devices", d), nil).Want(200)
	c.Send("POST", "/devices", device("core-1"), idempotency, "k").Want(201).WantHeader("Idempotent-Replayed", "")
}

// TestIdempotencyKeys checks that invalid keys are refused.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	for _, key := range []string{strings.Repeat("k", 256), "ä", "a\tb"} {
		c.Send("POST", "/devices", device("core-1"), idempotency, key).WantError(400, "Idempotency-Key 255")
	}
	c.Header[http.CanonicalHeaderKey(idempotency)] = []string{"a", "b"}
	c.Send("POST", "/devices", device("core-1")).WantError(400, "must be sent once")
}

// TestIdempotencyConcurrent checks that one of several concurrent requests is executed, and
// that the others get its response.
func TestIdempotencyConcurrent(t *testing.T) { stores(t, scaletest.Unraced, idempotencyAtOnce) }

func idempotencyAtOnce(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	responses := make([]*httpxtest.Response, 20)
	var all sync.WaitGroup
	for i := range responses {
		all.Go(func() { responses[i] = c.Send("POST", "/vlans", `{"vlan_id":7,"name":"x"}`, idempotency, "k") })
	}
	all.Wait()
	replayed := 0
	for _, a := range responses {
		if a.Code != 201 || a.Body.String() != responses[0].Body.String() {
			t.Errorf("%d %s", a.Code, a.Body)
		}
		if a.Header().Get("Idempotent-Replayed") == "true" {
			replayed++
		}
	}
	if n := g.count(records.Of[inventory.VLAN](builtIn)); n != 1 || replayed != len(responses)-1 {
		t.Errorf("%d VLANs and %d replays", n, replayed)
	}
}

// TestIdempotencyRecordsExpire checks that a key is valid for 24 hours and old records are pruned.
func TestIdempotencyRecordsExpire(t *testing.T) {
	stores(t, scaletest.Unraced, idempotencyRecordsExpire)
}

func idempotencyRecordsExpire(t *testing.T, g *harness) {
	t.Helper()
	post := func(name, key string) *httpxtest.Response {
		return g.as("root").Send("POST", "/devices", device(name), idempotency, key).Want(201)
	}
	for i := range 15 {
		post(fmt.Sprint("core-", i), fmt.Sprint("key-", i))
	}
	g.clock.forward(24*time.Hour - time.Second)
	post("core-0", "key-0").WantHeader("Idempotent-Replayed", "true")
	g.clock.forward(time.Second)
	g.as("root").Send("POST", "/devices", device("core-0"), idempotency, "key-0").WantError(409, "Hostname already exists")
	post("new-0", "key-0").WantHeader("Idempotent-Replayed", "")
	post("new-1", "key-14").WantHeader("Idempotent-Replayed", "")
	if n := g.count(records.Of[records.IdempotencyRecord](builtIn)); n > 4 {
		t.Errorf("%d idempotency records are left", n)
	}
}

// TestIdempotencyRecordsOfOneUser: one user's keys, however many, cost no other user theirs, and each is kept for an
// hour: further ones are 429, which inventory_requests_total counts by status.
func TestIdempotencyRecordsOfOneUser(t *testing.T) {
	stores(t, scaletest.Unraced, idempotencyRecordsOfOneUser)
}

func idempotencyRecordsOfOneUser(t *testing.T, g *harness) {
	t.Helper()
	post := func(user, name, key string) *httpxtest.Response {
		return g.as(user).Send("POST", "/devices", device(name), idempotency, key)
	}
	post("second", "core-0", "key").Want(201)
	post("root", "core-1", "first").Want(201)
	g.clock.forward(time.Second)
	for part := range 20 {
		ok(t, g.store.Change(t.Context(), func(tx records.Tx) error {
			var all []records.Record
			for i := range 1000 {
				rec := &records.IdempotencyRecord{Owner: "id " + g.users["root"].ID, Key: fmt.Sprint("many-", part, "-", i), Request: "x", Status: 201}
				if err := records.New(g.store, &records.Options{Now: g.clock.now}).Init(rec); err != nil {
					return err
				}
				all = append(all, rec)
			}
			return tx.Create(t.Context(), all...)
		}))
	}
	post("root", "core-2", "another").WantError(429, "Idempotency-Key")
	post("root", "core-1", "first").Want(201).WantHeader("Idempotent-Replayed", "true")
	post("second", "core-3", "more").Want(201)
	g.clock.forward(time.Hour)
	post("root", "core-2", "another").Want(201)
	g.as("root").Send("POST", "/devices", device("core-1"), idempotency, "first").WantError(409, "Hostname")
	post("second", "core-0", "key").Want(201).WantHeader("Idempotent-Replayed", "true")
}

// TestDryRun checks that a dry run responds with what would change and with a header, and changes
// nothing: for every mutation of every kind.
func TestDryRun(t *testing.T) {
	each(t, func(t *testing.T, g *harness, k kind) {
		c := g.on(t, "root")
		draft := k.draft(g)
		rec := g.create(k.list, draft)
		other := with(draft, pairs(fresh[k.label])...)
		before, entries := read(t, c.Send("GET", path(k.list, rec), nil)), len(g.changed())
		for _, tc := range []struct {
			method, path string
			body         any
			would        string
		}{
			{"POST", k.list, other, "create"},
			{"POST", k.list, []object{other}, "create"},
			{"PATCH", path(k.list, rec), k.change, "update"},
			{"PATCH", k.list, []object{with(k.change, "id", rec["id"])}, "update"},
			{"DELETE", path(k.list, rec), nil, "delete"},
			{"DELETE", k.list, []any{rec["id"]}, "delete"},
			{"PUT", path(k.list, rec), draft, ""},
		} {
			status := 200
			if k.label == "Link" && tc.method == "POST" {
				status = 409 // there is one between these interfaces, which a dry run reports too
			}
			a := c.Send(tc.method, tc.path+"?dry_run=true", tc.body, idempotency, "k").Want(status)
			a.WantHeader("Dry-Run", "true").WantHeader("Location", "").WantHeader("ETag", "")
			if status != 200 {
				continue
			}
			got := read(t, a.WantHeader("Content-Type", openapi.PreviewType))
			noun := strings.ToLower(k.label)
			if k.label == "VLAN" {
				noun = k.label
			}
			changes := got["changes"].([]any)
			if got["status"] != "dry_run" || got["truncated"] != false || tc.would != "" && got["message"] != "Would "+tc.would+" 1 "+noun {
				t.Errorf("the response is %v", got)
			}
			if tc.would == "" {
				continue
			}
			change := changes[0].(object)
			if change["action"] != tc.would && change["action"] != "role_change" || change["cause"] != "" || tc.would != "create" && change["resource_id"] != rec["id"] {
				t.Errorf("the change is %v", change)
			}
			for name, value := range k.change {
				if tc.would == "update" && !reflect.DeepEqual(change["changes"].(object)[name].(object)["after"], value) {
					t.Errorf("the change is %v, want %v", change, k.change)
				}
			}
		}
		c.Send("POST", k.list+"?dry_run=maybe", other).WantError(400, "dry_run true")
		c.Send("POST", k.list+"?dry_run=true", object{}).Want(400).WantHeader("Dry-Run", "true")
		shows(t, read(t, c.Send("GET", path(k.list, rec), nil)), before)
		if n := g.count(records.Of[records.IdempotencyRecord](builtIn)); n != 0 || len(g.changed()) != entries {
			t.Errorf("%d idempotency records and %d new entries were stored", n, len(g.changed())-entries)
		}
		if k.label != "Link" {
			c.Send("POST", k.list+"?dry_run=false", other).Want(201).WantHeader("Dry-Run", "")
		}
	})
}

// changed returns the entries of the audit log except those of reads, which dry runs of users are.
func (g *harness) changed() []*records.AuditLog {
	g.t.Helper()
	return slices.DeleteFunc(g.entries(), func(e *records.AuditLog) bool { return e.Action == "read" })
}

// fresh returns the members in which another record of a kind must differ.
var fresh = map[string]object{
	"Device": {"hostname": "fresh"}, "Interface": {"name": "fresh"}, "Location": {"name": "fresh"},
	"VLAN": {"vlan_id": 99}, "User": {"username": "fresh", "email": "fresh@example.net"},
}
