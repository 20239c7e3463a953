package httpapi_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errcode"
)

// TestErrorCodes provokes every code of the tables but those that other tests provoke, and checks that
// errors have codes of the tables only.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	root, viewer := g.as("root"), g.as("viewer")
	sw := g.create("/devices", device("sw1"))
	at, own := path("/devices", sw), "/users/"+g.users["viewer"].ID
	g.create("/locations", with(location("HQ"), "site_code", "A"))
	g.create("/locations", with(location("HQ"), "site_code", "B"))
	rack := g.create("/racks", object{"name": "r1"})
	g.create("/devices", with(device("sw2"), "rack_id", rack["id"], "rack_unit", 1))
	vrf := g.create("/vrfs", object{"name": "v1"})
	g.create("/prefixes", object{"prefix": "10.0.0.0/8", "vrf_id": vrf["id"]})
	patch(root, "/users/"+g.users["second"].ID, object{"inactive_status": true}, 200, "")
	seen := map[string]bool{}
	for _, c := range []struct {
		client       string
		method, path string
		body         any
		status       int
		want         string // the code, and the fields with theirs
		headers      []string
	}{
		{"root", "POST", "/devices", object{"status": "gone"}, 400, "invalid hostname:required status:not_one_of", nil},
		{"root", "PATCH", at, object{"frob": 1, "version": 7, "tags": object{}}, 400, "invalid frob:unknown tags:wrong_type version:read_only", nil},
		{"root", "PATCH", at, object{"hostname": strings.Repeat("a", 300), "ip": "x", "rack_height": 0}, 400, "invalid hostname:too_long ip:bad_format rack_height:out_of_range", nil},
		{"root", "PATCH", at, object{"tags": make([]string, 51)}, 400, "invalid tags:too_many", nil},
		{"root", "PATCH", at, object{"location_id": unknown}, 400, "invalid location_id:not_found", nil},
		{"root", "PATCH", at, object{"location": "HQ"}, 422, "unprocessable location:ambiguous", nil},
		{"root", "PATCH", at, object{"vendor": "<script>"}, 400, "invalid vendor:markup", nil},
		{"root", "PATCH", at, `{`, 400, "invalid body:invalid_json", nil},
		{"root", "PATCH", at, object{"rack_id": rack["id"], "rack_unit": 1}, 409, "in_use rack_unit:in_use", nil},
		{"root", "PATCH", at, object{}, 412, "precondition_failed", []string{"If-Match", `"x"`}},
		{"root", "PATCH", at, `{}`, 415, "unsupported_type", []string{"Content-Type", "text/plain"}},
		{"root", "PATCH", at, `"` + strings.Repeat("a", 1<<20) + `"`, 413, "too_large", nil},
		{"root", "POST", "/devices", device("sw1"), 409, "not_unique hostname:not_unique", nil},
		{"root", "POST", "/vlans", object{"name": "a", "vlan_id": 1, "subnet_cidr": "10.0.0.0/8", "gateway_ip": "192.0.2.1"}, 400, "invalid gateway_ip:inconsistent", nil},
		{"root", "DELETE", path("/vrfs", vrf), nil, 409, "in_use", nil},
		{"root", "GET", "/devices?cursor=&page=1", nil, 400, "invalid cursor:not_allowed", nil},
		{"root", "GET", "/devices?vendor=a&vendor=b", nil, 400, "invalid vendor:repeated", nil},
		{"root", "GET", "/devices", nil, 406, "not_acceptable", []string{"Accept", "image/png"}},
		{"root", "GET", "/devices/" + unknown, nil, 404, "not_found", nil},
		{"root", "PUT", "/devices", nil, 405, "method_not_allowed", nil},
		{"", "GET", "/devices", nil, 401, "unauthorized", nil},
		{"", "POST", "/users/login", object{"username": "second", "password": password}, 403, "account_inactive", nil},
		{"viewer", "POST", "/devices", device("sw3"), 403, "forbidden", nil},
		{"viewer", "PATCH", own, object{"role": "admin"}, 403, "forbidden role:forbidden", nil},
		{"viewer", "PUT", own + "/password", object{"new_password": "password1", "current_password": password}, 400, "invalid new_password:weak_password", nil},
		{"viewer", "PUT", own + "/password", object{"new_password": "another good password", "current_password": "x"}, 400, "invalid current_password:wrong", nil},
	} {
		client := map[string]*httpxtest.Client{"root": root, "viewer": viewer, "": g.as("")}[c.client]
		body := client.Send(c.method, c.path, c.body, c.headers...).WantError(c.status, "")
		got := body.Code
		seen[body.Code] = true
		for _, f := range body.Errors {
			got += " " + f.Field + ":" + f.Code
			seen[f.Code] = true
		}
		if got != c.want {
			t.Errorf("%s %s %v: the codes are %q, want %q", c.method, c.path, c.body, got, c.want)
		}
	}
	for _, elsewhere := range []string{
		"second_factor_required", "second_factor_wrong", // TestSecondFactor
		"timeout", "conflict", "gone", "wrong_host", "too_many_requests", "internal", "unavailable", "full", // httpx.TestCodes
		"too_short", // inventory.TestCheck
	} {
		if seen[elsewhere] {
			t.Errorf("%s is provoked here", elsewhere)
		}
		seen[elsewhere] = true
	}
	for _, code := range append(errcode.Errors(), errcode.Fields()...) {
		if !seen[code] {
			t.Errorf("no test provokes %s", code)
		}
	}
}
