package httpapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestBulk creates, changes and deletes several of each kind.
func TestBulk(t *testing.T) { stores(t, scaletest.Unraced, several) }

func several(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	d := g.create("/devices", device("parent"))["id"]
	var ports []any
	for i := range 4 {
		ports = append(ports, g.create("/interfaces", port(d, fmt.Sprint("p", i)))["id"])
	}
	for list, drafts := range map[string][]object{
		"/devices":    {device("a"), device("b")},
		"/interfaces": {port(d, "a"), port(d, "b")},
		"/locations":  {location("a"), location("b")},
		"/vlans":      {{"vlan_id": 1, "name": "a"}, {"vlan_id": 2, "name": "b"}},
		"/links":      {{"a_interface_id": ports[0], "b_interface_id": ports[1]}, {"a_interface_id": ports[2], "b_interface_id": ports[3]}},
		"/events":     {{"severity": "low", "type": "x", "message": "a"}, {"severity": "low", "type": "x", "message": "b"}},
		"/metrics":    {{"device_id": d, "cpu": 1}, {"device_id": d, "cpu": 2}},
		"/users":      {user("a"), user("b")},
	} {
		made := bulk(t, c.Send("POST", list, drafts).Want(201), "create", "created", 2)
		c.Send("GET", list+"/"+made[1]["id"].(string), nil).Want(200)
		change := object{"type": "x"}
		switch list {
		case "/devices", "/users":
			change = object{"role": "viewer"}
		case "/locations":
			change = object{"city": "Bonn"}
		case "/vlans":
			change = object{"name": "z"}
		case "/events":
			change = object{"acknowledged": true}
		}
		if list != "/metrics" {
			changed := bulk(t, c.Send("PATCH", list, []object{
				with(change, "id", made[1]["id"]), with(change, "id", made[0]["id"], "if_version", made[0]["version"]),
			}).Want(200), "update", "updated", 2)
			if changed[0]["id"] != made[1]["id"] {
				t.Errorf("%s: the results are not in the order of the items", list)
			}
		}
		ids := []any{made[0]["id"], made[1]["id"]}
		gone := read(t, c.Send("DELETE", list, ids).Want(200))
		want := object{"status": "success", "message": "Bulk delete completed successfully", "deleted": 2.0, "results": ids}
		if !reflect.DeepEqual(gone, want) {
			t.Errorf("DELETE %s responds %v", list, gone)
		}
		c.Send("GET", list+"/"+made[1]["id"].(string), nil).Want(404)
	}
}

// bulk returns the results of a call with several items.
func bulk(t *testing.T, a *httpxtest.Response, verb, done string, n int) []object {
	t.Helper()
	body := read(t, a)
	var results []object
	for _, rec := range body["results"].([]any) {
		results = append(results, rec.(object))
	}
	if body["status"] != "success" || body["message"] != "Bulk "+verb+" completed successfully" || body[done] != float64(n) || len(results) != n {
		t.Fatalf("the response is %v", body)
	}
	return results
}

// TestAllOrNothing checks that a bulk call that fails changes nothing, and that the error has
// every item that failed, by index and id.
func TestAllOrNothing(t *testing.T) { stores(t, scaletest.Unraced, allOrNothing) }

func allOrNothing(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	one, two := g.create("/devices", device("one")), g.create("/devices", device("two"))
	body := c.Send("PATCH", "/devices", []object{
		{"id": one["id"], "status": "offline"},
		{"id": unknown, "status": "offline"},
		{"id": two["id"], "status": "frob", "ip": "x"},
		{"status": "offline"},
		{"id": 7},
		{"id": two["id"], "hostname": "one"},
		{"id": one["id"], "if_version": 9},
		{"id": one["id"], "if_version": "x"},
		{"id": one["id"], "version": 9},
		{"id": one["id"], "frob": 1},
	}).WantError(404, "9 10 devices")
	want := map[int]string{
		1: "Device not found", 2: "status one", 3: "id UUID", 4: "id UUID", 5: "Hostname already exists",
		6: "since read", 7: "if_version whole", 8: "version is read-only", 9: "frob unknown",
	}
	for _, item := range body.Items {
		if !errtest.Names(item.Message, want[item.Index]) || want[item.Index] == "" {
			t.Errorf("item %d: %+v, want %q", item.Index, item, want[item.Index])
		}
		delete(want, item.Index)
	}
	if len(want) > 0 || body.Items[0].ID != unknown {
		t.Errorf("the items are %+v, missing %v", body.Items, want)
	}
	if rec := read(t, c.Send("GET", path("/devices", one), nil)); rec["status"] != "active" || rec["version"] != 1.0 {
		t.Errorf("the first device is %v", rec)
	}

	body = c.Send("POST", "/devices", []object{device("x"), device("one"), with(device("y"), "ip", "z"), {"frob": 1}}).WantError(400, "Nothing was changed")
	if len(body.Items) != 2 || body.Items[0].Index != 2 || body.Items[1].Index != 3 {
		t.Errorf("the items are %+v", body.Items)
	}
	body = c.Send("POST", "/devices", []object{device("x"), device("one")}).WantError(409, "Hostname already exists")
	if len(body.Items) != 1 || body.Items[0].Index != 1 {
		t.Errorf("the items are %+v", body.Items)
	}
	body = c.Send("DELETE", "/devices", []any{one["id"], unknown, "x"}).WantError(404, unknown+": Device not found")
	if len(body.Items) != 2 || body.Items[0].ID != unknown {
		t.Errorf("the items are %+v", body.Items)
	}
	body = c.Send("DELETE", "/devices", []any{
		object{"id": one["id"], "if_version": 1},
		object{"id": two["id"], "if_version": 9},
		object{"id": two["id"], "if_version": 0},
		object{"id": 7},
		object{"id": two["id"], "frob": 1},
	}).WantError(412, "4 5 devices")
	for i, message := range []string{"since read", "if_version whole", "id UUID", "frob unknown"} {
		if body.Items[i].Index != i+1 || !errtest.Names(body.Items[i].Message, message) {
			t.Errorf("item %d: %+v, want %q", i+1, body.Items[i], message)
		}
	}
	if n := g.count(records.Of[inventory.Device](builtIn)); n != 2 {
		t.Errorf("there are %d devices", n)
	}
}

// TestBulkBodies checks that bodies without valid items are refused.
func TestBulkBodies(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	many := strings.TrimSuffix(strings.Repeat(`"`+unknown+`",`, records.MaxItems+1), ",")
	for _, tc := range []struct {
		method, body, message string
	}{
		{"PATCH", `[]`, "array item"},
		{"DELETE", `[]`, "array item"},
		{"POST", `[]`, "array item"},
		{"PATCH", `{}`, "array object"},
		{"DELETE", `{}`, "array object"},
		{"PATCH", `[null]`, "[0] object null"},
		{"PATCH", `[1]`, "[0] object number"},
		{"PATCH", `["` + unknown + `"]`, "object string"},
		{"DELETE", `[null]`, "[0] id if_version"},
		{"DELETE", `[["` + unknown + `"]]`, "[0] id if_version"},
		{"DELETE", `[{"id":"` + unknown + `","id":"a"}]`, "duplicate field"},
		{"DELETE", `[{}]`, "id UUID"},
		{"DELETE", `[` + many + `]`, "most 1000"},
		{"PATCH", `[` + strings.ReplaceAll(many, `"`+unknown+`"`, `{}`) + `]`, "most 1000"},
		{"POST", `[` + strings.ReplaceAll(many, `"`+unknown+`"`, `{}`) + `]`, "most 1000"},
		{"PATCH", ``, "empty"},
		{"PATCH", `null`, "array item"},
		{"PATCH", `[{"id":"a","id":"b"}]`, "duplicate field"},
	} {
		c.Send(tc.method, "/devices", tc.body).WantError(http.StatusBadRequest, tc.message)
	}
}

// TestBulkPasswords checks the limit of new passwords in one request.
func TestBulkPasswords(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	var drafts, items []object
	for i := range 21 {
		drafts = append(drafts, user(fmt.Sprint("user-", i)))
		items = append(items, object{"id": g.users["viewer"].ID, "password": password})
	}
	g.as("root").Send("POST", "/users", drafts).WantError(400, "most 20")
	g.as("root").Send("PATCH", "/users", items).WantError(400, "most 20")
	g.as("root").Send("POST", "/users", drafts[:20]).Want(201)
}
