package httpapi_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestCascades checks that the records that a deletion deletes or changes have entries in the audit
// log with the record that they come from, and that a dry run shows them.
func TestCascades(t *testing.T) { stores(t, scaletest.Unraced, cascades) }

func cascades(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	site := g.create("/locations", location("Berlin 1"))
	for n := range 10 {
		g.create("/devices", with(device(fmt.Sprint("sw-", n)), "location_id", site["id"]))
	}
	d := g.create("/devices", device("core-1"))
	a, b := g.create("/interfaces", port(d["id"], "a")), g.create("/interfaces", port(d["id"], "b"))
	g.create("/links", object{"a_interface_id": a["id"], "b_interface_id": b["id"]})
	g.create("/events", object{"severity": "low", "type": "system", "message": "x", "device_id": d["id"], "interface_id": a["id"]})

	for _, tc := range []struct {
		path, message             string
		created, updated, deleted float64
		entries                   map[string]int
	}{
		{
			path("/locations", site), "delete location, clear location_id 10 devices", 0, 10, 1,
			map[string]int{"update device location_id location": 10, "delete location": 1},
		},
		{
			path("/devices", d), "delete device, link 2 interfaces, clear interface_id device_id event", 0, 2, 4,
			map[string]int{
				"delete link device": 1, "delete interface device": 2, "update event interface_id device": 1,
				"update event device_id device": 1, "delete device": 1,
			},
		},
	} {
		before := len(g.entries())
		dry := read(t, c.Send("DELETE", tc.path+"?dry_run=true", nil).Want(200))
		if dry["status"] != "dry_run" || !errtest.Names(fmt.Sprint(dry["message"]), tc.message) || dry["created"] != tc.created || dry["updated"] != tc.updated || dry["deleted"] != tc.deleted {
			t.Errorf("the dry run is %v, want %q", dry, tc.message)
		}
		if n := len(g.entries()); n != before {
			t.Errorf("a dry run writes %d entries", n-before)
		}
		would := map[string]int{}
		for _, change := range dry["changes"].([]any) {
			e := change.(object)
			would[effectOf(e["action"], e["resource_type"], e["changes"].(object), e["cause"])]++
		}
		c.Send("DELETE", tc.path, nil).Want(200)
		added := len(g.entries()) - before // reading the log adds one
		page := read(t, c.Send("GET", "/audit-logs?sortby=id:desc&limit=100", nil).Want(200))["data"].([]any)
		did := map[string]int{}
		for _, entry := range page[:added] {
			e := entry.(object)
			did[effectOf(e["action"], e["resource_type"], e["changes"].(object), e["cause"])]++
			if e["actor"] != "root" || e["cause"] != "" && e["cause"] != cause(tc.path) {
				t.Errorf("the entry is %v", e)
			}
		}
		if !reflect.DeepEqual(would, tc.entries) || !reflect.DeepEqual(did, tc.entries) {
			t.Errorf("would be %v\nentries  %v\nwant     %v", would, did, tc.entries)
		}
	}
}

// TestLargePreview checks that a dry run counts more changes than it lists.
func TestLargePreview(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	site := g.create("/locations", location("Berlin 1"))
	for i := range 2 {
		var batch []object
		for n := range 600 {
			batch = append(batch, with(device(fmt.Sprint("sw-", i, "-", n)), "location_id", site["id"]))
		}
		g.as("root").Send("POST", "/devices", batch).Want(201)
	}
	dry := read(t, g.as("root").Send("DELETE", path("/locations", site)+"?dry_run=true", nil).Want(200))
	if n := len(dry["changes"].([]any)); n != 1000 || dry["truncated"] != true || dry["updated"] != 1200.0 {
		t.Errorf("the dry run lists %d changes of %v, truncated %v", n, dry["updated"], dry["truncated"])
	}
}

// effectOf describes a change: its action, type, the field that it clears, and the type of its
// cause.
func effectOf(action, kind any, changes object, cause any) string {
	text := fmt.Sprint(action, " ", kind)
	if action == "update" {
		for name, value := range changes {
			if value.(object)["after"] != nil || value.(object)["before"] == nil {
				return fmt.Sprint(text, " not cleared: ", changes)
			}
			text += " " + name
		}
	}
	if cause != "" {
		kind, _, _ := strings.Cut(cause.(string), "/")
		text += " " + kind
	}
	return text
}

// cause returns the name of the record at a path.
func cause(path string) string {
	list, id, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.TrimSuffix(list, "s") + "/" + id
}
