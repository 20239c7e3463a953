package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
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
		{"POST", "/devices", with(device("sw9"), "location", "Vienna", "location_id", graz["id"]), 422, "another location_id"},
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
