package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// kind is a resource that clients create, replace and change.
type kind struct {
	label  string
	list   string
	draft  func(g *harness) object // of a new record, with what it refers to
	change object                  // some other fields
}

// kinds returns a sample of each resource with all of its fields.
func kinds() []kind {
	return []kind{
		{"Device", "/devices", func(g *harness) object { return device("core-9") }, object{"status": "maintenance", "tags": []any{"a"}, "notes": "x\ny"}},
		{"Interface", "/interfaces", func(g *harness) object {
			return port(g.create("/devices", device("parent"))["id"], "et-0/0/0")
		}, object{"status": "down", "speed": "10Gbps", "mtu": 9000.0, "mac_address": "00:1a:2b:3c:4d:5e"}},
		{"Location", "/locations", func(g *harness) object { return location("Berlin 1") }, object{"city": "Bonn", "lat": 50.5, "lon": 7.25}},
		{"VLAN", "/vlans", func(g *harness) object {
			return object{"vlan_id": 10.0, "name": "users", "description": "people"}
		}, object{"status": "reserved", "vlan_id": 11.0}},
		{"Link", "/links", func(g *harness) object {
			d := g.create("/devices", device("parent"))["id"]
			a, b := g.create("/interfaces", port(d, "a")), g.create("/interfaces", port(d, "b"))
			return object{"a_interface_id": a["id"], "b_interface_id": b["id"], "type": "fiber", "status": "up"}
		}, object{"type": "copper", "discovery": "lldp"}},
		{"User", "/users", func(g *harness) object { return user("jane") }, object{"first_name": "Jane", "role": "editor"}},
	}
}

// each runs a test for each kind.
func each(t *testing.T, test func(t *testing.T, g *harness, k kind)) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.label, func(t *testing.T) {
			t.Parallel()
			test(t, newHarness(t, nil), k)
		})
	}
}

// one skips a test that another store has too, with -short.
func one(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SQLite only")
	}
}

// stores runs a test with each store: with SQLite unless sqlite skips the subtest.
func stores(t *testing.T, sqlite func(testing.TB), test func(t *testing.T, g *harness)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		one(t)
		test(t, newHarness(t, nil))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		sqlite(t)
		test(t, newHarness(t, &choices{store: database(t)}))
	})
}

// emptyDatabase returns the file of an empty database: creating the schema for each test
// takes longer than most tests do.
var emptyDatabase = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "httpapi")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	store, err := sqlite.Open(context.Background(), path, builtIn, nil)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// server is the PostgreSQL server of all tests.
var server postgrestest.Shared

func TestMain(m *testing.M) { os.Exit(server.Main(m).Run()) }

// migrated returns the URL of a PostgreSQL database without records.
func migrated(t testing.TB) (url string) {
	t.Helper()
	return server.Filled(t, func(url string) error {
		store, err := postgres.Open(context.Background(), url, builtIn, nil)
		if err != nil {
			return err
		}
		return store.Close()
	})
}

// database returns a store in a temporary file.
func database(t testing.TB) records.Store {
	t.Helper()
	file, err := emptyDatabase()
	ok(t, err)
	path := filepath.Join(t.TempDir(), "inventory.db")
	ok(t, os.WriteFile(path, file, 0o600))
	store, err := sqlite.Open(context.Background(), path, builtIn, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, store.Close()) })
	return store
}

// TestLife creates, changes and deletes a record of each kind.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, g *harness, k kind) { life(t, g, k) })
}

// TestLifeInDatabase does the same with SQLite, one kind after the other.
func TestLifeInDatabase(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		for _, k := range kinds() {
			life(t, g, k)
			var ids []any // of the devices that it referred to
			for _, rec := range data(t, g.as("root").Send("GET", "/devices", nil)) {
				ids = append(ids, rec["id"])
			}
			if len(ids) > 0 {
				g.as("root").Send("DELETE", "/devices", ids).Want(200)
			}
		}
	})
}

func life(t *testing.T, g *harness, k kind) {
	t.Helper()
	c := g.on(t, "root")
	draft := k.draft(g)
	made := c.Send("POST", k.list, draft).Want(http.StatusCreated)
	rec := read(t, made)
	at := path(k.list, rec)
	made.WantHeader("Location", at).WantHeader("ETag", `"`+rec["id"].(string)+`.1"`)
	shows(t, rec, with(draft, "password", nil))
	if rec["created_at"] != g.clock.now().Format(time.RFC3339) || rec["version"] != 1.0 {
		t.Errorf("the new record is %v", rec)
	}
	if got := read(t, c.Send("GET", at, nil).Want(200)); !reflect.DeepEqual(got, rec) {
		t.Errorf("GET responds %v, POST has responded %v", got, rec)
	}

	g.clock.forward(time.Second)
	changed := c.Send("PATCH", at, k.change).Want(200).WantHeader("ETag", `"`+rec["id"].(string)+`.2"`)
	shows(t, read(t, changed), with(with(draft, "password", nil), pairs(k.change)...))
	same(t, changed, c.Send("GET", at, nil))

	replaced := c.Send("PUT", at, draft).Want(200).WantHeader("ETag", `"`+rec["id"].(string)+`.3"`)
	shows(t, read(t, replaced), with(draft, "password", nil))
	same(t, replaced, c.Send("GET", at, nil))

	gone := read(t, c.Send("DELETE", at, nil).Want(200))
	if !reflect.DeepEqual(gone, object{"status": "success", "message": k.label + " deleted successfully"}) {
		t.Errorf("DELETE responds %v", gone)
	}
	for _, method := range []string{"GET", "DELETE"} {
		c.Send(method, at, nil).WantError(404, k.label+" not found")
	}
	c.Send("PATCH", at, k.change).WantError(404, k.label+" not found")
	c.Send("PUT", at, draft).WantError(404, k.label+" not found") // no upsert
}

// same checks that two responses have the same body and tag.
func same(t *testing.T, a, b *httpxtest.Response) {
	t.Helper()
	if a.Header().Get("Etag") != b.Header().Get("Etag") || a.Body.String() != b.Body.String() {
		t.Errorf("%s %s, and then %s %s", a.Header().Get("Etag"), a.Body, b.Header().Get("Etag"), b.Body)
	}
}

// shows checks that a record has these members, and the ends of a link in any order.
func shows(t *testing.T, rec, want object) {
	t.Helper()
	for name, value := range want {
		if strings.HasSuffix(name, "_interface_id") {
			if rec["a_interface_id"] != value && rec["b_interface_id"] != value {
				t.Errorf("no end of the link is %v: %v", value, rec)
			}
			continue
		}
		if !reflect.DeepEqual(rec[name], value) {
			t.Errorf("%s is %v, want %v", name, rec[name], value)
		}
	}
}

// pairs returns the members of an object, for with.
func pairs(o object) []any {
	var all []any
	for name, value := range o {
		all = append(all, name, value)
	}
	return all
}

// TestCopy checks that a record can be sent back unchanged: a replacement ignores the fields
// that the inventory sets, and a change accepts them with their current values.
func TestCopy(t *testing.T) {
	each(t, func(t *testing.T, g *harness, k kind) {
		c := g.on(t, "root")
		rec := g.create(k.list, k.draft(g))
		at := path(k.list, rec)
		shows(t, read(t, c.Send("PUT", at, rec).Want(200)), with(rec, "updated_at", nil))
		shows(t, read(t, c.Send("PATCH", at, rec).Want(200)), with(rec, "updated_at", nil))
		c.Send("PUT", at, with(rec, "id", unknown)).WantError(400, "id inconsistent path")
		c.Send("PATCH", at, with(rec, "version", 7)).WantError(400, "version is read-only")
	})
}

// TestReadOnly checks that no body can set the fields that the inventory sets (mass
// assignment).
func TestReadOnly(t *testing.T) {
	own := object{
		"id": unknown, "created_at": "2001-01-01T00:00:00Z", "updated_at": "2001-01-01T00:00:00Z", "version": 99,
		"password_changed_at": "2001-01-01T00:00:00Z", "last_login": "2001-01-01T00:00:00Z",
	}
	hidden := []string{"password_hash", "PasswordHash", "epoch", "Epoch", "reset_hash", "reset_expires_at", "-", "Base", "Meta", "__proto__"}
	each(t, func(t *testing.T, g *harness, k kind) {
		c := g.on(t, "root")
		draft := k.draft(g)
		mine := with(draft)
		for name, value := range own {
			if (name == "password_changed_at" || name == "last_login") && k.label != "User" {
				continue
			}
			mine[name] = value
		}
		rec := read(t, c.Send("POST", k.list, mine).Want(201))
		at := path(k.list, rec)
		put := read(t, c.Send("PUT", at, with(mine, "id", nil)).Want(200))
		for name, value := range own {
			if rec[name] == value || put[name] == value {
				t.Errorf("%s was set by the client: %v, %v", name, rec, put)
			}
			if _, has := rec[name]; has {
				c.Send("PATCH", at, object{name: value}).WantError(400, name)
				if name != "id" {
					c.Send("PATCH", k.list, []object{{"id": rec["id"], name: value}}).WantError(400, name)
				}
			}
		}
		for _, name := range hidden {
			c.Send("POST", k.list, with(draft, name, "x")).WantError(400, name+" is an unknown field")
			c.Send("PUT", at, with(draft, name, "x")).WantError(400, name+" is an unknown field")
			c.Send("PATCH", at, object{name: "x"}).WantError(400, name+" is an unknown field")
			c.Send("PATCH", k.list, []object{{"id": rec["id"], name: "x"}}).WantError(400, name+" is an unknown field")
		}
	})
}

// TestIDs checks that a malformed id is a 400 and an unknown one a 404, on all routes with
// an id in the path, and that ids ignore case.
func TestIDs(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	for _, id := range []string{"7", "x", unknown[:35], unknown + "0", "{" + unknown + "}", "urn:uuid:" + unknown, "..%2F..%2Fetc", "%00", "'%20OR%201=1--", strings.Repeat("a", 5000)} {
		for _, at := range []string{"/devices/", "/interfaces/", "/locations/", "/vlans/", "/links/", "/events/", "/metrics/", "/metrics/device/", "/audit-logs/", "/users/"} {
			c.Send("GET", at+id, nil).WantError(400, "id UUID")
		}
		for _, at := range []string{"/interfaces", "/interfacecount"} {
			c.Send("GET", "/devices/"+id+at, nil).WantError(400, "id UUID")
		}
	}
	d := g.create("/devices", device("core-1"))
	upper := strings.ToUpper(d["id"].(string))
	c.Send("GET", "/devices/"+upper, nil).Want(200)
	c.Send("PATCH", "/devices/"+upper, `{"role":"x"}`).Want(200)
	c.Send("PATCH", "/devices", []object{{"id": upper, "role": "y"}}).Want(200)
	c.Send("DELETE", "/devices", []string{upper}).Want(200)
}

// TestRealNetworks: what networks have in their inventories is accepted (REFERENCE.md, 1.1-1.3).
func TestRealNetworks(t *testing.T) {
	stores(t, scaletest.Unraced, testRealNetworks)
}

func testRealNetworks(t *testing.T, g *harness) {
	c := g.as("root")
	site := g.create("/locations", object{"name": "A", "address": "1 Main St\r\nTown"})
	d := g.create("/devices", object{"hostname": "sw", "location_id": ""})
	if d["location_id"] != nil || d["status"] != "active" || d["ip"] != "" {
		t.Errorf("the device is %v", d)
	}
	c.Send("POST", "/devices", object{"hostname": "sw"}).WantError(409, "Hostname already exists")
	here := g.create("/devices", object{"hostname": "sw", "location_id": site["id"]})
	c.Send("POST", "/devices", object{"hostname": "sw", "location_id": site["id"]}).WantError(409, "Hostname already exists")
	c.Send("PATCH", path("/devices", here), object{"location_id": ""}).WantError(409, "Hostname already exists")
	c.Send("DELETE", path("/locations", site), nil).
		WantError(409, "Location duplicate Hostname")
	c.Send("PATCH", path("/devices", here), object{"hostname": "sw2"}).Want(200)
	c.Send("DELETE", path("/locations", site), nil).Want(200)
}

// TestRefused checks the errors of invalid records; some messages are fixed (REFERENCE.md,
// 2.2).
func TestRefused(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	d := g.create("/devices", with(device("core-1"), "serial_number", "S1"))
	p := g.create("/interfaces", port(d["id"], "a"))
	q := g.create("/interfaces", port(d["id"], "b"))
	site := g.create("/locations", with(location("B"), "site_code", "BER1"))
	g.create("/vlans", object{"vlan_id": 10, "name": "x", "location_id": site["id"]})
	g.create("/links", object{"a_interface_id": p["id"], "b_interface_id": q["id"]})
	for _, tc := range []struct {
		path    string
		body    object
		status  int
		message string
		field   string
	}{
		{"/devices", with(device("x"), "hostname", nil), 400, "hostname empty", "hostname"},
		{"/devices", with(device("x"), "ip", "192.0.2.300"), 400, "Invalid IP address format", "ip"},
		{"/devices", with(device("x"), "ip", "192.0.2.1/24"), 400, "Invalid IP address format", "ip"},
		{"/devices", with(device("x"), "status", "on fire"), 400, "active offline", "status"},
		{"/devices", with(device("x"), "hostname", 7), 400, "hostname string", "hostname"},
		{"/devices", with(device("x"), "location_id", unknown), 400, "location_id locations exist", "location_id"},
		{"/devices", with(device("x"), "location_id", "berlin"), 400, "location_id UUID", "location_id"},
		{"/devices", with(device("x"), "frob", 1), 400, "frob unknown", "frob"},
		{"/devices", device("core-1"), 409, "Hostname already exists", "hostname"},
		{"/devices", with(device("x"), "serial_number", "S1"), 409, "Serial number already exists", "serial_number"},
		{"/interfaces", with(port(d["id"], "x"), "device_id", nil), 400, "device_id empty", "device_id"},
		{"/interfaces", port(unknown, "x"), 400, "device_id devices exist", "device_id"},
		{"/interfaces", port(d["id"], "a"), 409, "exists device", "device_id"},
		{"/interfaces", with(port(d["id"], "x"), "status", "sideways"), 400, "status up", "status"},
		{"/interfaces", with(port(d["id"], "x"), "mac_address", "00:1a"), 400, "MAC address", "mac_address"},
		{"/interfaces", with(port(d["id"], "x"), "speed", "10Gbps", "speed_mbps", 7), 400, "speed_mbps inconsistent", "speed_mbps"},
		{"/locations", with(location("x"), "name", nil), 400, "name empty", "name"},
		{"/locations", with(location("x"), "site_code", "BER1"), 409, "Site code already exists", "site_code"},
		{"/vlans", object{"vlan_id": 5000, "name": "x"}, 400, "vlan_id 4094", "vlan_id"},
		{"/vlans", object{"vlan_id": 0, "name": "x"}, 400, "vlan_id empty", "vlan_id"},
		{"/vlans", object{"vlan_id": 10, "name": "y", "location_id": site["id"]}, 409, "exists location", "location_id"},
		{"/links", object{"a_interface_id": p["id"], "b_interface_id": p["id"]}, 400, "interface itself", "b_interface_id"},
		{"/links", object{"a_interface_id": q["id"], "b_interface_id": p["id"]}, 409, "Link between these interfaces already exists", "a_interface_id"},
		{"/links", object{"a_interface_id": p["id"], "b_interface_id": unknown}, 400, "interfaces exist", ""},
		{"/events", object{"severity": "critical", "type": "security"}, 400, "message empty", "message"},
		{"/events", object{"severity": "bad", "type": "x", "message": "y"}, 400, "severity one", "severity"},
		{"/metrics", object{"device_id": d["id"], "cpu": 101}, 400, "cpu 100", "cpu"},
		{"/users", with(user("x"), "email", "root@example.org"), 409, "Email already exists", "email"},
		{"/users", with(user("x"), "email", "ROOT@EXAMPLE.ORG"), 409, "Email already exists", "email"},
		{"/users", with(user("root"), "email", "x@example.org"), 409, "Username already exists", "username"},
		{"/users", object{}, 400, "username email password role empty", "username"},
		{"/users", with(user("x"), "role", "god"), 400, "role admin", "role"},
		{"/users", with(user("x"), "password", "short"), 400, "password least 8", "password"},
		{"/users", with(user("x"), "password", "password123"), 400, "most common", "password"},
		{"/users", with(user("longenough"), "password", "longenough"), 400, "user name", "password"},
	} {
		body := c.Send("POST", tc.path, tc.body).WantError(tc.status, tc.message)
		if tc.field != "" && (len(body.Errors) == 0 || body.Errors[0].Field != tc.field) {
			t.Errorf("%s %v: the errors are %v, want one of %s first", tc.path, tc.body, body.Errors, tc.field)
		}
	}
}

// TestEnums checks that one list of values holds for POST, PUT, PATCH and bulk.
func TestEnums(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	d := g.create("/devices", device("core-1"))
	at := path("/devices", d)
	for i, status := range []string{"active", "offline", "maintenance", "provisioning", "decommissioned", "Decommissioned"} {
		want := strings.ToLower(status)
		for _, a := range []object{
			read(t, c.Send("PATCH", at, object{"status": status}).Want(200)),
			read(t, c.Send("PUT", at, with(device("core-1"), "status", status)).Want(200)),
			g.create("/devices", with(device("new-"+strconv.Itoa(i)), "status", status)),
		} {
			if a["status"] != want {
				t.Errorf("%s is stored as %v", status, a["status"])
			}
		}
		c.Send("PATCH", "/devices", []object{{"id": d["id"], "status": status}}).Want(200)
	}
	for _, body := range []any{object{"status": "gone"}, with(device("core-1"), "status", "gone")} {
		c.Send("PATCH", at, body).WantError(400, "must be one of")
		c.Send("PUT", at, with(device("core-1"), "status", "gone")).WantError(400, "must be one of")
	}
}

// TestOptional checks that optional fields may be left out of a replacement, even twice, and
// that optional references may be null.
func TestOptional(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	for _, name := range []string{"one", "two"} {
		at := path("/devices", g.create("/devices", with(device(name), "serial_number", "S-"+name)))
		rec := read(t, c.Send("PUT", at, device(name)).Want(200))
		if rec["serial_number"] != "" || rec["location_id"] != nil {
			t.Errorf("the device is %v", rec)
		}
		c.Send("PATCH", at, `{"location_id":null}`).Want(200)
		c.Send("PATCH", at, `{"serial_number":null}`).WantError(400, "serial_number null")
	}
}

// TestLocationGone checks that devices stay when their location is deleted.
func TestLocationGone(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	site := g.create("/locations", location("Berlin 1"))
	d := g.create("/devices", with(device("core-1"), "location_id", site["id"]))
	g.as("root").Send("DELETE", path("/locations", site), nil).Want(200)
	if rec := read(t, g.as("viewer").Send("GET", path("/devices", d), nil).Want(200)); rec["location_id"] != nil {
		t.Errorf("the device is %v", rec)
	}
}
