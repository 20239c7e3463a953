package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// outcomes lists the results for an anonymous caller, a viewer, an editor, an admin, and the
// owner of the record, who is a viewer: "+" is allowed, "1" gets a 401, "3" a 403.
type outcomes string

const (
	everybody outcomes = "+++++"
	readers   outcomes = "1++++"
	admins    outcomes = "133+3"
	linkers   outcomes = "13++3"
	ownerToo  outcomes = "133++"
	ownerOnly outcomes = "1333+"
)

// accessRows lists the access rule for every route (REFERENCE.md, 3.2). A route without a row
// fails the test, and so does a row without a route.
func accessRows() map[string]outcomes {
	return map[string]outcomes{
		"GET /":                                 readers,
		"GET /debug/count":                      everybody,
		"GET /changes":                          readers,
		"GET /changes/stream":                   readers,
		"GET /openapi.json":                     everybody,
		"GET /summary":                          readers,
		"POST /transaction":                     readers,
		"GET /search":                           readers,
		"POST /users/login":                     everybody,
		"POST /users/logout":                    everybody,
		"POST /users/forgot-password":           everybody,
		"POST /users/reset-password/{code}":     everybody,
		"POST /users/invitations":               admins,
		"POST /users/{id}/invitation":           admins,
		"GET /devices":                          readers,
		"POST /devices":                         admins,
		"PATCH /devices":                        admins,
		"DELETE /devices":                       admins,
		"GET /devices/{id}":                     readers,
		"PUT /devices/{id}":                     admins,
		"PATCH /devices/{id}":                   admins,
		"DELETE /devices/{id}":                  admins,
		"GET /devices/{id}/interfaces":          readers,
		"GET /devices/{id}/interfacecount":      readers,
		"GET /interfaces":                       readers,
		"POST /interfaces":                      admins,
		"PATCH /interfaces":                     admins,
		"DELETE /interfaces":                    admins,
		"GET /interfaces/{id}":                  readers,
		"PUT /interfaces/{id}":                  admins,
		"PATCH /interfaces/{id}":                admins,
		"DELETE /interfaces/{id}":               admins,
		"GET /locations":                        readers,
		"POST /locations":                       admins,
		"PATCH /locations":                      admins,
		"DELETE /locations":                     admins,
		"GET /locations/{id}":                   readers,
		"PUT /locations/{id}":                   admins,
		"PATCH /locations/{id}":                 admins,
		"DELETE /locations/{id}":                admins,
		"GET /locations/{id}/devices":           readers,
		"GET /locations/{id}/devicescount":      readers,
		"GET /vlans":                            readers,
		"POST /vlans":                           admins,
		"PATCH /vlans":                          admins,
		"DELETE /vlans":                         admins,
		"GET /vlans/{id}":                       readers,
		"PUT /vlans/{id}":                       admins,
		"PATCH /vlans/{id}":                     admins,
		"DELETE /vlans/{id}":                    admins,
		"GET /tagged-vlans":                     readers,
		"POST /tagged-vlans":                    admins,
		"PATCH /tagged-vlans":                   admins,
		"DELETE /tagged-vlans":                  admins,
		"GET /tagged-vlans/{id}":                readers,
		"PUT /tagged-vlans/{id}":                admins,
		"PATCH /tagged-vlans/{id}":              admins,
		"DELETE /tagged-vlans/{id}":             admins,
		"GET /map-positions":                    readers,
		"POST /map-positions":                   linkers,
		"PATCH /map-positions":                  linkers,
		"DELETE /map-positions":                 linkers,
		"GET /map-positions/{id}":               readers,
		"PUT /map-positions/{id}":               linkers,
		"PATCH /map-positions/{id}":             linkers,
		"DELETE /map-positions/{id}":            linkers,
		"GET /racks":                            readers,
		"POST /racks":                           admins,
		"PATCH /racks":                          admins,
		"DELETE /racks":                         admins,
		"GET /racks/{id}":                       readers,
		"PUT /racks/{id}":                       admins,
		"PATCH /racks/{id}":                     admins,
		"DELETE /racks/{id}":                    admins,
		"GET /device-types":                     readers,
		"POST /device-types":                    admins,
		"PATCH /device-types":                   admins,
		"DELETE /device-types":                  admins,
		"GET /device-types/{id}":                readers,
		"PUT /device-types/{id}":                admins,
		"PATCH /device-types/{id}":              admins,
		"DELETE /device-types/{id}":             admins,
		"GET /port-templates":                   readers,
		"POST /port-templates":                  admins,
		"PATCH /port-templates":                 admins,
		"DELETE /port-templates":                admins,
		"GET /port-templates/{id}":              readers,
		"PUT /port-templates/{id}":              admins,
		"PATCH /port-templates/{id}":            admins,
		"DELETE /port-templates/{id}":           admins,
		"GET /vrfs":                             readers,
		"POST /vrfs":                            admins,
		"PATCH /vrfs":                           admins,
		"DELETE /vrfs":                          admins,
		"GET /vrfs/{id}":                        readers,
		"PUT /vrfs/{id}":                        admins,
		"PATCH /vrfs/{id}":                      admins,
		"DELETE /vrfs/{id}":                     admins,
		"GET /prefixes":                         readers,
		"POST /prefixes":                        admins,
		"PATCH /prefixes":                       admins,
		"DELETE /prefixes":                      admins,
		"GET /prefixes/{id}":                    readers,
		"PUT /prefixes/{id}":                    admins,
		"PATCH /prefixes/{id}":                  admins,
		"DELETE /prefixes/{id}":                 admins,
		"GET /addresses":                        readers,
		"POST /addresses":                       admins,
		"PATCH /addresses":                      admins,
		"DELETE /addresses":                     admins,
		"GET /addresses/{id}":                   readers,
		"PUT /addresses/{id}":                   admins,
		"PATCH /addresses/{id}":                 admins,
		"DELETE /addresses/{id}":                admins,
		"GET /links":                            readers,
		"POST /links":                           linkers,
		"PATCH /links":                          linkers,
		"DELETE /links":                         linkers,
		"GET /links/{id}":                       readers,
		"PUT /links/{id}":                       linkers,
		"PATCH /links/{id}":                     linkers,
		"DELETE /links/{id}":                    linkers,
		"GET /terminations":                     readers,
		"POST /terminations":                    admins,
		"PATCH /terminations":                   admins,
		"DELETE /terminations":                  admins,
		"GET /terminations/{id}":                readers,
		"PUT /terminations/{id}":                admins,
		"PATCH /terminations/{id}":              admins,
		"DELETE /terminations/{id}":             admins,
		"GET /rear-ports":                       readers,
		"POST /rear-ports":                      admins,
		"PATCH /rear-ports":                     admins,
		"DELETE /rear-ports":                    admins,
		"GET /rear-ports/{id}":                  readers,
		"PUT /rear-ports/{id}":                  admins,
		"PATCH /rear-ports/{id}":                admins,
		"DELETE /rear-ports/{id}":               admins,
		"GET /front-ports":                      readers,
		"POST /front-ports":                     admins,
		"PATCH /front-ports":                    admins,
		"DELETE /front-ports":                   admins,
		"GET /front-ports/{id}":                 readers,
		"PUT /front-ports/{id}":                 admins,
		"PATCH /front-ports/{id}":               admins,
		"DELETE /front-ports/{id}":              admins,
		"GET /cables":                           readers,
		"POST /cables":                          linkers,
		"PATCH /cables":                         linkers,
		"DELETE /cables":                        linkers,
		"GET /cables/{id}":                      readers,
		"PUT /cables/{id}":                      linkers,
		"PATCH /cables/{id}":                    linkers,
		"DELETE /cables/{id}":                   linkers,
		"GET /events":                           readers,
		"POST /events":                          admins,
		"PATCH /events":                         admins,
		"DELETE /events":                        admins,
		"GET /events/{id}":                      readers,
		"PATCH /events/{id}":                    admins,
		"DELETE /events/{id}":                   admins,
		"GET /metrics":                          readers,
		"POST /metrics":                         admins,
		"DELETE /metrics":                       admins,
		"GET /metrics/{id}":                     readers,
		"GET /audit-logs":                       admins,
		"GET /audit-logs/{id}":                  admins,
		"GET /custom-fields":                    admins,
		"POST /custom-fields":                   admins,
		"PATCH /custom-fields":                  admins,
		"DELETE /custom-fields":                 admins,
		"GET /custom-fields/{id}":               admins,
		"PUT /custom-fields/{id}":               admins,
		"PATCH /custom-fields/{id}":             admins,
		"DELETE /custom-fields/{id}":            admins,
		"GET /users":                            admins,
		"POST /users":                           admins,
		"PATCH /users":                          admins,
		"DELETE /users":                         admins,
		"GET /users/{id}":                       ownerToo,
		"PUT /users/{id}":                       ownerToo,
		"PATCH /users/{id}":                     ownerToo,
		"DELETE /users/{id}":                    admins,
		"PUT /users/{id}/password":              ownerToo,
		"GET /users/{id}/sessions":              ownerToo,
		"DELETE /users/{id}/sessions/{session}": ownerToo,
		"GET /users/{id}/tokens":                ownerToo,
		"POST /users/{id}/tokens":               ownerToo,
		"DELETE /users/{id}/tokens":             ownerToo,
		"DELETE /users/{id}/tokens/{token}":     ownerToo,
		"POST /users/{id}/totp":                 ownerOnly,
		"PUT /users/{id}/totp":                  ownerOnly,
		"DELETE /users/{id}/totp":               ownerToo,
		"POST /users/{id}/totp/recovery-codes":  ownerOnly,
	}
}

// TestAccess calls every route as every kind of caller. Requests have no body, so allowed
// ones may fail too, but with neither a 401 nor a 403.
func TestAccess(t *testing.T) {
	t.Parallel()
	rows := accessRows()
	routes := httpapi.Routes(newHarness(t, &choices{bare: true}).api)
	if len(routes) != len(rows) {
		t.Errorf("there are %d routes and %d rows", len(routes), len(rows))
	}
	for _, pattern := range routes {
		want, there := rows[pattern]
		if !there {
			t.Errorf("%s has no row: add one with its outcomes", pattern)
			continue
		}
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			g := newHarness(t, &choices{bare: true})
			for i, who := range []string{"", "viewer", "editor", "root", "owner"} {
				if got := g.outcome(t, pattern, who); got != want[i] {
					t.Errorf("%q gets %q, want %q", who, got, want[i])
				}
			}
			expired := g.on(t, "root")
			g.clock.forward(25 * time.Hour)
			if got := g.outcomeOf(t, expired, pattern, g.users["second"].ID); got != want[0] {
				t.Errorf("an expired token gets %q, want %q", got, want[0])
			}
		})
	}
}

// outcome returns the result for a caller on a route. The owner is a viewer who requests
// their own record; the others request another user's.
func (g *harness) outcome(t testing.TB, pattern, who string) byte {
	t.Helper()
	id := g.users["second"].ID
	if who == "owner" {
		who, id = "viewer", g.users["viewer"].ID
	}
	return g.outcomeOf(t, g.on(t, who), pattern, id)
}

// outcomeOf returns the result for a client on a route of the user with an id.
func (g *harness) outcomeOf(t testing.TB, c *httpxtest.Client, pattern, id string) byte {
	t.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{id}", id, "{session}", unknown, "{token}", unknown, "{code}", "none").Replace(path)
	if path == "/changes/stream" {
		path += "?since=none" // it would not end
	}
	a := c.Send(method, path, nil)
	switch a.Code {
	case http.StatusUnauthorized:
		if c.Header.Get("Authorization") == "" {
			// The specification prescribes the messages of 401 and 403 word for word.
			a.WantError(401, "Unauthorized: No security token provided")
		}
		return '1'
	case http.StatusForbidden:
		a.WantError(403, "Forbidden: You do not have permission to perform this action")
		return '3'
	}
	if a.Code >= 500 {
		t.Errorf("%s: %d %s", pattern, a.Code, a.Body)
	}
	return '+'
}
