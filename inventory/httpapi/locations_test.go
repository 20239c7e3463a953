package httpapi_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// sites are two locations with a device each, and a user who is limited to the first.
type sites struct {
	here, there         object
	device, foreign     object
	port, other, remote object // interfaces; the last is there
	link, border        object // links; the last is between the two
}

// requestIDs matches the part that differs between equal responses.
var requestIDs = regexp.MustCompile(`"request_id":"[^"]*"`)

func masked(body string) string { return requestIDs.ReplaceAllString(body, "") }

// twoSites fills an API, and limits the admin second, the editor and the viewer to the first site.
func twoSites(g *harness) *sites {
	s := &sites{}
	s.here, s.there = g.create("/locations", location("here")), g.create("/locations", location("there"))
	s.device = g.create("/devices", with(device("core-1"), "location_id", s.here["id"], "serial_number", "A1"))
	s.foreign = g.create("/devices", with(device("core-2"), "location_id", s.there["id"], "serial_number", "A2"))
	s.port, s.other = g.create("/interfaces", port(s.device["id"], "eth0")), g.create("/interfaces", port(s.device["id"], "eth1"))
	s.remote = g.create("/interfaces", port(s.foreign["id"], "eth0"))
	s.link = g.create("/links", object{"a_interface_id": s.port["id"], "b_interface_id": s.other["id"]})
	s.border = g.create("/links", object{"a_interface_id": s.port["id"], "b_interface_id": s.remote["id"]})
	for _, name := range []string{"second", "editor", "viewer"} {
		g.as("root").Send("PATCH", "/users/"+g.users[name].ID, object{"location_ids": []any{s.here["id"]}}).Want(200)
	}
	return s
}

// TestLocations: a limited user finds and changes what belongs to their locations; all else is absent.
func TestLocations(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	c := g.as("second")
	if got := values(data(t, c.Send("GET", "/devices", nil)), "hostname"); got != "core-1" {
		t.Errorf("the devices are %q", got)
	}
	if got := values(data(t, c.Send("GET", "/locations", nil)), "name"); got != "here" {
		t.Errorf("the locations are %q", got)
	}
	if n := len(data(t, c.Send("GET", "/links", nil))); n != 1 {
		t.Errorf("there are %d links, one of them to elsewhere", n)
	}
	for path, want := range map[string]string{
		"/devices?limit=1": `"total_count":1`, "/interfaces?q=eth": `"total_count":2`, "/locations/" + s.here["id"].(string) + "/devicescount": `"count":1`,
		"/summary?resource=interfaces&by=status": `"total":2`, "/debug/count": `"count":1`,
	} {
		if a := c.Send("GET", path, nil).Want(200); !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s: %s, want %s", path, a.Body, want)
		}
	}
	absent := func(method, path string, body any) {
		t.Helper()
		want := c.Send(method, strings.ReplaceAll(path, "ID", unknown), body)
		for _, id := range []any{s.there["id"], s.foreign["id"], s.remote["id"], s.border["id"]} {
			if got := c.Send(method, strings.ReplaceAll(path, "ID", id.(string)), body); got.Code != want.Code || masked(got.Body.String()) != masked(want.Body.String()) {
				t.Errorf("%s %s: %d %s, and of an unknown id %d %s", method, path, got.Code, got.Body, want.Code, want.Body)
			}
		}
	}
	for _, list := range []string{"/locations", "/devices", "/interfaces", "/links"} {
		absent("GET", list+"/ID", nil)
		absent("PATCH", list+"/ID", object{})
		absent("DELETE", list+"/ID?dry_run=true", nil)
	}
	absent("GET", "/locations/ID/devices", nil)
	absent("GET", "/devices/ID/interfacecount", nil)
	absent("GET", "/metrics/device/ID/history", nil)

	dangling := c.Send("POST", "/devices", with(device("new"), "location_id", unknown)).Want(400)
	for _, status := range []object{
		with(device("new"), "location_id", s.there["id"]), with(device("core-1"), "location_id", s.there["id"], "serial_number", "A1"),
	} {
		if got := c.Send("POST", "/devices", status).Want(400).Body.String(); masked(got) != masked(dangling.Body.String()) {
			t.Errorf("a device elsewhere: %s, and of an unknown location %s", got, dangling.Body)
		}
	}
	c.Send("POST", "/devices", device("nowhere")).WantError(400, "device location_id empty account")
	c.Send("PATCH", path("/devices", s.device), object{"location_id": s.there["id"]}).Want(400)
	c.Send("PATCH", path("/devices", s.device), object{"location_id": nil}).Want(400)
	c.Send("POST", "/interfaces", []object{port(s.device["id"], "a"), port(s.foreign["id"], "b")}).Want(400)
	c.Send("POST", "/devices", with(device("x"), "location_id", s.here["id"], "serial_number", "A2")).WantError(409, "Serial number already exists")
	c.Send("POST", "/locations", location("new")).Want(403)
	c.Send("POST", "/retention", object{"resource": "events", "max_records": 1}).Want(403)
	c.Send("PATCH", path("/devices", s.device), object{"notes": "x"}).Want(200)
	c.Send("POST", "/devices", with(device("new"), "location_id", s.here["id"])).Want(201)

	for _, path := range []string{"/users", "/users/" + g.users["root"].ID, "/users/" + g.users["root"].ID + "/sessions", "/audit-logs", "/custom-fields"} {
		c.Send("GET", path, nil).Want(403)
	}
	own := "/users/" + g.users["second"].ID
	c.Send("GET", own, nil).Want(200)
	c.Send("GET", own+"/sessions", nil).Want(200)
	c.Send("PATCH", own, object{"first_name": "Jo"}).Want(200)
	c.Send("PATCH", own, object{"location_ids": []any{}}).Want(403)
	c.Send("PATCH", "/users/"+g.users["viewer"].ID, object{"first_name": "Jo"}).Want(403)
	c.Send("POST", "/users", user("accomplice")).Want(403)
}

// TestLocationPreview: a preview shows what goes along at the sender's locations only. A link to
// elsewhere goes along all the same.
func TestLocationPreview(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	c := g.as("second")
	a := c.Send("DELETE", path("/devices", s.device)+"?dry_run=true", nil).Want(200)
	if text := a.Body.String(); strings.Contains(text, s.border["id"].(string)) || !strings.Contains(text, "1 device, 1 link and 2 interfaces") {
		t.Errorf("the preview is %s", text)
	}
	c.Send("DELETE", path("/devices", s.device), nil).Want(200)
	g.as("root").Send("GET", path("/links", s.border), nil).Want(404)
}

// TestLocationsOfUsers: locations that a user gets must exist, and one that is deleted leaves its
// users with less, not with everything.
func TestLocationsOfUsers(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	root, viewer := g.as("root"), "/users/"+g.users["viewer"].ID
	root.Send("PATCH", viewer, object{"location_ids": []string{unknown}}).
		WantError(400, "location_ids exist "+unknown)
	root.Send("PATCH", viewer, object{"location_ids": []string{"x"}}).Want(400)
	upper := strings.ToUpper(s.here["id"].(string))
	if got := read(t, root.Send("PATCH", viewer, object{"location_ids": []string{upper}}).Want(200))["location_ids"]; len(got.([]any)) != 1 || got.([]any)[0] != s.here["id"] {
		t.Errorf("the locations are %v", got)
	}
	root.Send("PUT", viewer, object{"username": "viewer", "email": "viewer@example.org"}).Want(200)
	root.Send("DELETE", path("/locations", s.here), nil).Want(200)
	if u := g.user("viewer"); len(u.LocationIDs) != 1 {
		t.Errorf("the locations are %v", u.LocationIDs)
	}
	if found := data(t, g.as("viewer").Send("GET", "/devices", nil)); len(found) != 0 {
		t.Errorf("the devices are %v", found)
	}
	root.Send("PATCH", viewer, object{"first_name": "Jo"}).Want(200)
	g.as("editor").Send("POST", "/links", object{"a_interface_id": s.port["id"], "b_interface_id": s.remote["id"]}).Want(400)
	root.Send("PATCH", "/users/"+g.users["root"].ID, object{"location_ids": []any{s.there["id"]}}).Want(403)
}

// TestLastUnlimitedAdmin: an admin of some locations can't replace the last one of all.
func TestLastUnlimitedAdmin(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.as("root").Send("PATCH", "/users/"+g.users["editor"].ID, object{"role": "admin"}).Want(200)
	here := g.create("/locations", location("here"))
	root := g.as("root")
	root.Send("PATCH", "/users", []object{
		{"id": g.users["second"].ID, "location_ids": []any{here["id"]}}, {"id": g.users["editor"].ID, "location_ids": []any{here["id"]}},
	}).Want(200)
	g.as("second").Send("PATCH", "/users/"+g.users["root"].ID, object{"role": "viewer"}).Want(403)
	g.as("second").Send("DELETE", "/users/"+g.users["root"].ID, nil).Want(403)
}

// TestNarrowedLocations: what one process takes from a user has an effect at once on changes in
// another process that remembers their account.
func TestNarrowedLocations(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		s := twoSites(g)
		for _, name := range []string{"second", "editor"} {
			g.as("root").Send("PATCH", "/users/"+g.users[name].ID, object{"location_ids": []any{s.here["id"], s.there["id"]}}).Want(200)
		}
		c, editor := h.as("second"), h.as("editor")
		c.Send("GET", path("/devices", s.foreign), nil).Want(200)
		link := object{"a_interface_id": s.other["id"], "b_interface_id": s.remote["id"]}
		made := editor.Send("POST", "/links", link, "Idempotency-Key", "a").Want(201)
		for _, name := range []string{"second", "editor"} {
			g.as("root").Send("PATCH", "/users/"+g.users[name].ID, object{"location_ids": []any{s.here["id"]}}).Want(200)
		}
		c.Send("PATCH", path("/devices", s.foreign), object{"notes": "x"}).Want(404)
		c.Send("PATCH", "/devices", []object{{"id": s.foreign["id"], "notes": "x"}}).Want(404)
		c.Send("PATCH", path("/devices", s.foreign), object{"notes": "x"}, "If-Match", `"x.1"`).Want(404)
		c.Send("DELETE", path("/devices", s.foreign), nil).Want(404)
		c.Send("POST", "/interfaces", port(s.foreign["id"], "new")).Want(400)
		c.Send("POST", "/metrics", object{"device_id": s.foreign["id"], "cpu": 1}).Want(400)
		editor.Send("DELETE", made.Header().Get("Location"), nil).Want(404)
		g.as("editor").Send("POST", "/links", link, "Idempotency-Key", "a").Want(422) // which would show what is elsewhere now
	})
}

// located gives every request a role and locations.
type located struct {
	role      auth.Role
	locations []string
}

func (l *located) Authenticate(*http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "someone", Username: "jane", Role: l.role, Locations: l.locations}, nil
}

// TestLocationsOfOwnAccounts: the users of a program may be limited too.
func TestLocationsOfOwnAccounts(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	who := &located{role: auth.Admin, locations: []string{strings.ToUpper(s.here["id"].(string))}}
	api, err := httpapi.New(records.New(g.store, nil), who, nil)
	ok(t, err)
	c := httpxtest.New(t, api)
	if got := values(data(t, c.Send("GET", "/devices", nil)), "hostname"); got != "core-1" {
		t.Errorf("the devices are %q", got)
	}
	c.Send("PATCH", path("/devices", s.device), object{"notes": "x"}).Want(200)
	c.Send("PATCH", path("/devices", s.foreign), object{"notes": "x"}).Want(404)
	c.Send("PATCH", path("/devices", s.foreign)+"?dry_run=true", object{"notes": "x"}).Want(404)
	c.Send("GET", "/audit-logs", nil).Want(403)
	who.locations = []string{}
	if found := data(t, c.Send("GET", "/locations", nil)); len(found) != 0 {
		t.Errorf("without any location there are %v", found)
	}
	who.locations = nil
	c.Send("PATCH", path("/devices", s.foreign), object{"notes": "x"}).Want(200)
}

// TestLocationFeed: the feed of a limited user has the changes of what belongs to their locations. A
// record that leaves them ends there, without what it becomes; one that enters them begins.
func TestLocationFeed(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	root := g.as("root")
	since := read(t, g.as("viewer").Send("GET", "/changes", nil).Want(200))["next"].(string)
	root.Send("PATCH", path("/devices", s.foreign), object{"notes": "x"}).Want(200)
	root.Send("PATCH", path("/interfaces", s.port), object{"description": "x"}).Want(200)
	root.Send("PATCH", path("/devices", s.device), object{"location_id": s.there["id"], "notes": "secret"}).Want(200)
	root.Send("PATCH", path("/interfaces", s.port), object{"description": "there"}).Want(200)
	root.Send("PATCH", path("/devices", s.foreign), object{"location_id": s.here["id"], "notes": "y"}).Want(200)
	root.Send("DELETE", path("/devices", s.foreign), nil).Want(200)
	root.Send("POST", "/locations", location("third")).Want(201)
	root.Send("PATCH", path("/locations", s.here), object{"city": "Kiel"}).Want(200)
	var got []string
	a := g.as("viewer").Send("GET", "/changes?since="+since, nil).Want(200)
	for _, e := range read(t, a)["data"].([]any) {
		got = append(got, e.(object)["action"].(string)+" "+e.(object)["resource_type"].(string))
	}
	want := []string{
		"update interface", "delete device", "create device", "delete interface", "delete device", "update location",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	for _, hidden := range []any{"secret", s.there["id"], s.border["id"]} {
		if strings.Contains(a.Body.String(), hidden.(string)) {
			t.Errorf("the feed shows %s: %s", hidden, a.Body)
		}
	}
}

// TestHiddenReferences: what a limited user reads has a constant in place of the id of a record that they do not see. Sent
// back it keeps what is stored, null clears it, and lists sorted by it go on.
func TestHiddenReferences(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	s := twoSites(g)
	root, c := g.as("root"), g.as("second")
	rack := g.create("/racks", object{"name": "R1", "location_id": s.here["id"]})["id"]
	kind := g.create("/device-types", object{"manufacturer": "Cisco", "model": "m"})["id"]
	at, stored := path("/devices", s.device), func(field string) any {
		return read(t, root.Send("GET", path("/devices", s.device), nil).Want(200))[field]
	}
	root.Send("PATCH", at, object{"device_type_id": kind, "rack_id": rack}).Want(200)
	seen := read(t, c.Send("GET", at, nil).Want(200))
	if seen["device_type_id"] != records.Hidden || seen["rack_id"] != rack {
		t.Fatalf("the user sees %v", seen)
	}
	for _, answer := range []object{
		read(t, c.Send("PUT", at, with(seen, "notes", "a")).Want(200)),
		read(t, c.Send("PATCH", at, object{"device_type_id": records.Hidden, "notes": "b"}).Want(200)),
		read(t, c.Send("PATCH", "/devices", []object{{"id": s.device["id"], "device_type_id": records.Hidden, "notes": "c"}}).Want(200))["results"].([]any)[0].(object),
	} {
		if answer["device_type_id"] != records.Hidden || stored("device_type_id") != kind {
			t.Errorf("stored is %v, and the answer %v", stored("device_type_id"), answer)
		}
	}
	csv := c.Send("GET", "/devices?format=csv", nil).Want(200).Body.String()
	c.Send("POST", "/import?resource=devices", strings.Replace(csv, "core-1", "core-9", 1), "Content-Type", "text/csv").Want(200)
	if stored("device_type_id") != kind || stored("hostname") != "core-9" {
		t.Errorf("after the import there are %v and %v", stored("hostname"), stored("device_type_id"))
	}
	if text := c.Send("PATCH", at+"?dry_run=true", object{"device_type_id": nil}).Want(200).Body.String(); strings.Contains(text, kind.(string)) || !strings.Contains(text, records.Hidden) {
		t.Errorf("the preview is %s", text)
	}
	g.create("/devices", with(device("core-3"), "location_id", s.here["id"], "device_type_id", g.create("/device-types", object{"manufacturer": "A", "model": "m"})["id"]))
	query, names := "/devices?limit=1&sortby=device_type_id:asc&cursor=", ""
	for next := any(""); next != nil && len(names) < 100; {
		page := read(t, c.Send("GET", query+next.(string), nil).Want(200))
		names += values([]object{page["data"].([]any)[0].(object)}, "hostname") + " "
		next = page["meta"].(object)["next_cursor"]
	}
	if names != "core-9 core-3 " {
		t.Errorf("the pages have %s", names)
	}
	c.Send("POST", "/devices", with(device("new"), "location_id", s.here["id"], "device_type_id", records.Hidden)).Want(400)
	root.Send("PATCH", at, object{"device_type_id": records.Hidden}).Want(400)
	c.Send("PATCH", at, object{"device_type_id": nil}).Want(200)
	if stored("device_type_id") != nil {
		t.Errorf("null leaves %v", stored("device_type_id"))
	}
	since := "/changes?since=0&limit=1000"
	if text := c.Send("GET", since, nil).Want(200).Body.String(); strings.Contains(text, kind.(string)) || !strings.Contains(text, rack.(string)) {
		t.Errorf("the changes are %s", text)
	}
	root.Send("DELETE", "/racks/"+rack.(string), nil).Want(200)
	if text := c.Send("GET", since, nil).Want(200).Body.String(); !strings.Contains(text, `"cause":"rack/`+rack.(string)) {
		t.Errorf("the changes have no cause that the user saw: %s", text)
	}
}
