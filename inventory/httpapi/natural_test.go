package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestNaturalKeys checks that bodies may name the records that they refer to by natural keys.
func TestNaturalKeys(t *testing.T) { stores(t, scaletest.Unraced, naturalKeys) }

func naturalKeys(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	vienna := g.create("/locations", with(location("Vienna"), "site_code", "VIE"))
	graz := g.create("/locations", location("Graz"))
	for _, twin := range []string{"HQ", "HQ"} {
		g.create("/locations", location(twin))
	}
	sw := g.create("/devices", with(device("sw1"), "location", "VIE"))
	if sw["location_id"] != vienna["id"] || sw["location"] != nil {
		t.Errorf("the device is %v", sw)
	}
	other := g.create("/devices", with(device("sw1"), "location", object{"name": "Graz"}))
	if other["location_id"] != graz["id"] {
		t.Errorf("the device is %v", other)
	}
	of := func(location string) object { return object{"hostname": "sw1", "location": location} }
	eth := g.create("/interfaces", object{"device": of("Vienna"), "name": "eth0"})
	g.create("/interfaces", object{"device": object{"id": other["id"]}, "name": "eth0"})
	if eth["device_id"] != sw["id"] {
		t.Errorf("the interface is %v", eth)
	}
	link := g.create("/links", object{
		"a_interface": object{"name": "eth0", "device": of("Graz")}, "b_interface": object{"name": "eth0", "device": of("VIE")},
	})
	if link["a_interface_id"] != eth["id"] {
		t.Errorf("the link is %v", link)
	}
	moved := read(t, c.Send("PATCH", path("/devices", sw), object{"location": nil}).Want(200))
	back := read(t, c.Send("PUT", path("/devices", sw), with(device("sw1"), "location", "Vienna", "location_id", vienna["id"])).Want(200))
	if moved["location_id"] != nil || back["location_id"] != vienna["id"] {
		t.Errorf("the device is %v, then %v", moved, back)
	}
	c.Send("PATCH", "/devices", []object{{"id": sw["id"], "location": "Graz", "hostname": "sw2"}, {"id": other["id"], "location": "VIE"}}).Want(200)

	before := len(g.entries())
	for _, tc := range []struct {
		method, path string
		body         any
		status       int
		says         string
	}{
		{"POST", "/devices", with(device("sw9"), "location", "Wien"), 422, `location site_code \"Wien\"`},
		{"POST", "/devices", with(device("sw9"), "location", "HQ"), 422, "location several locations"},
		{"POST", "/devices", with(device("sw9"), "location", object{"code": "VIE"}), 400, `\"code\" natural site_code`},
		{"POST", "/devices", with(device("sw9"), "location", 7), 400, "location site_code object"},
		{"POST", "/devices", with(device("sw9"), "location", "Vienna", "location_id", graz["id"]), 422, "inconsistent location_id"},
		{"POST", "/interfaces", object{"device": nil, "name": "eth1"}, 400, "must not be null"},
		{"POST", "/interfaces", object{"device": object{"hostname": "sw1", "location": "Wien"}, "name": "eth1"}, 422, `device site_code \"Wien\"`},
		{"PATCH", "/devices", []object{{"id": sw["id"], "hostname": "sw3"}, {"id": other["id"], "location": "Wien"}}, 422, `"index":1`},
		{"PATCH", path("/devices", sw), object{"location": "Wien"}, 422, `"field":"location"`},
	} {
		a := c.Send(tc.method, tc.path, tc.body)
		if a.Code != tc.status || !errtest.Names(a.Body.String(), tc.says) {
			t.Errorf("%s %s %v is %d %s, want %d with %q", tc.method, tc.path, tc.body, a.Code, a.Body, tc.status, tc.says)
		}
	}
	if n := len(g.entries()); n != before {
		t.Errorf("refused changes write %d entries", n-before)
	}
	repeated := with(device("sw7"), "location", "Graz")
	first := c.Send("POST", "/devices", repeated, "Idempotency-Key", "one").Want(http.StatusCreated)
	again := c.Send("POST", "/devices", repeated, "Idempotency-Key", "one").Want(http.StatusCreated)
	if first.Body.String() != again.Body.String() {
		t.Errorf("a repeated request gets %s, the first one %s", again.Body, first.Body)
	}
}

// TestNaturalKeysOfOthers: who is limited to locations can't name records of others, and who may not
// read a resource can't name its records.
func TestNaturalKeysOfOthers(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	vienna, graz := g.create("/locations", location("Vienna")), g.create("/locations", location("Graz"))
	g.create("/devices", with(device("sw1"), "location_id", graz["id"]))
	token := read(t, g.as("root").Send("POST", "/users/"+g.users["root"].ID+"/tokens", object{
		"name": "limited", "scopes": []string{"*:*"}, "location_ids": []any{vienna["id"]}, "current_password": password,
	}).Want(http.StatusCreated))
	narrow := read(t, g.as("root").Send("POST", "/users/"+g.users["root"].ID+"/tokens", object{
		"name": "narrow", "scopes": []string{"devices:write"}, "current_password": password,
	}).Want(http.StatusCreated))
	c := g.as("")
	c.Header.Set("Authorization", "Bearer "+token["token"].(string))
	c.Send("POST", "/devices", with(device("sw2"), "location", "Vienna")).Want(http.StatusCreated)
	c.Send("POST", "/devices", with(device("sw3"), "location", "Graz")).Want(422)
	c.Send("POST", "/interfaces", object{"device": "sw1", "name": "eth0"}).Want(422)
	c.Send("POST", "/interfaces", object{"device": "sw2", "name": "eth0"}).Want(http.StatusCreated)
	c.Header.Set("Authorization", "Bearer "+narrow["token"].(string))
	c.Send("POST", "/devices", with(device("sw4"), "location", "Vienna")).Want(http.StatusForbidden)
	c.Send("POST", "/devices", with(device("sw4"), "location_id", vienna["id"])).Want(http.StatusCreated)
}

// TestPasswordsBesideNaturalKeys: no change waits for its own transaction. A password is hashed, which reads the user,
// before the transaction that finds a natural key, here of a program's own resource.
func TestPasswordsBesideNaturalKeys(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(
		records.Define[book](records.Definition{Name: "books", Label: "Book"}),
		records.Extend("users", "book_id", records.Text, "ref=books:null"))
	ok(t, err)
	inMemory, err := sqlite.Open(t.Context(), sqlite.Memory, schema, nil) // which has one connection
	ok(t, err)
	t.Cleanup(func() { ok(t, inMemory.Close()) })
	for name, store := range map[string]records.Store{"memory": records.NewMemStore(schema), "sqlite": inMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passwordsBesideNaturalKeys(t, store)
		})
	}
}

func passwordsBesideNaturalKeys(t *testing.T, store records.Store) {
	t.Helper()
	g := newHarness(t, &choices{store: store, options: func(o *httpapi.Options) { o.Timeout = 20 * time.Second }})
	book := g.create("/books", object{"title": "Ash"})["id"]
	c := g.as("root")
	made := read(t, c.Send("POST", "/users", with(user("jane"), "book", "Ash")).Want(201))
	c.Send("POST", "/users", []object{with(user("joe"), "book", "Ash"), with(user("jim"), "book", "Oak")}).Want(422)
	for i, send := range []func(body object) *httpxtest.Response{
		func(body object) *httpxtest.Response { return c.Send("PATCH", path("/users", made), body) },
		func(body object) *httpxtest.Response {
			return c.Send("PATCH", "/users", []object{with(body, "id", made["id"])})
		},
		func(body object) *httpxtest.Response {
			return c.Send("PUT", path("/users", made), with(body, "username", "jane", "email", "jane@example.org"))
		},
	} {
		c.Send("PATCH", path("/users", made), object{"book_id": nil}).Want(200)
		secret := fmt.Sprintf("%s, chapter %d", another, i)
		send(object{"password": secret, "book": "Ash"}).Want(200)
		if now := read(t, c.Send("GET", path("/users", made), nil)); now["book_id"] != book {
			t.Errorf("the user is %v", now)
		}
		g.bearer("jane", secret)
		send(object{"password": "x", "book": "Ash"}).WantError(400, "Password")
		send(object{"password": secret, "book": "Oak"}).Want(422)
	}
}
