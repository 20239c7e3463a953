package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	handler, err := routes()
	if err != nil {
		t.Fatal(err)
	}
	c := httpxtest.New(t, handler)
	if got := c.Send("GET", "/", nil).Want(200).Body.String(); got != "the portal is open\n" {
		t.Errorf("GET /: %q", got)
	}
	const site = `{"name":"Berlin 1","city":"Berlin","country":"DE","address":"Allee 1"}`
	c.Send("POST", "/network/locations", site).WantError(401, "X-Api-Key")
	c.Send("POST", "/network/locations", site, "X-Api-Key", "reader").WantError(403, "Forbidden")
	made := c.Send("POST", "/network/locations", site, "X-Api-Key", "writer").Want(201)
	c.Send("GET", made.Header().Get("Location"), nil, "X-Api-Key", "reader").Want(200).WantHeader("RateLimit-Limit", "60")
	const device = `{"hostname":"core-1","ip":"192.0.2.1","model":"QFX5120","vendor":"Juniper","os":"Junos","status":"active"}`
	c.Send("POST", "/network/devices", device, "X-Api-Key", "writer").WantError(403, "Forbidden")
	c.Send("POST", "/network/devices", device, "X-Api-Key", "wrench").Want(201)
	c.Send("POST", "/network/locations", site, "X-Api-Key", "wrench").WantError(403, "Forbidden")
	c.Send("POST", "/network/users/login", `{"username":"a","password":"b"}`).WantError(404, "No such path")
}
