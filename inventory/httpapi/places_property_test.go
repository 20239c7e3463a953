package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

var limitedRoles = []inventory.Role{inventory.Admin, inventory.Editor, inventory.Viewer}

// world is an API with users who are limited to two locations. Worlds differ in what is elsewhere.
type world struct {
	*harness
	seed    int
	near    *records.Engine // whose records have the same ids in each world
	others  *records.Engine // of what is elsewhere
	granted []string
	hidden  []string            // ids and names of records that belong to no location
	ids     map[string][]string // by resource
}

// sequence returns ids that begin with a letter.
func sequence(letter string, seed int) func() (string, error) {
	n := 0
	return func() (string, error) {
		n++
		return fmt.Sprintf("0190000%s-0000-7%03x-8000-%012x", letter, seed, n), nil
	}
}

// newWorld returns a world. Elsewhere there are seed locations.
func newWorld(t *testing.T, seed int) *world {
	t.Helper()
	w := &world{harness: newHarness(t, &choices{store: database(t)}), seed: seed, ids: map[string][]string{}}
	w.near = records.New(w.store, &records.Options{Now: w.clock.now, NewID: sequence("a", 0)})
	w.others = records.New(w.store, &records.Options{Now: w.clock.now, NewID: sequence("b", seed)})
	w.fill()
	return w
}

// add creates records.
func add[R records.Record](w *world, v *records.Engine, rec R) R {
	w.t.Helper()
	ok(w.t, v.Create(context.Background(), records.Caller{Name: "someone"}, rec))
	r, err := w.store.Schema().Of(rec)
	ok(w.t, err)
	w.ids[r.Name] = append(w.ids[r.Name], rec.Meta().ID)
	return rec
}

// set changes a record.
func (w *world) set(v *records.Engine, rec records.Record, change func(rec records.Record)) {
	w.t.Helper()
	r, err := w.store.Schema().Of(rec)
	ok(w.t, err)
	_, err = v.Update(context.Background(), records.Caller{Name: "someone"}, r, records.Edit{
		ID: rec.Meta().ID, Apply: func(rec records.Record) error { change(rec); return nil },
	})
	ok(w.t, err)
}

// site adds a location with some of everything. The names have a prefix.
func (w *world) site(v *records.Engine, name string, devices int) (*inventory.Location, []*inventory.Interface) {
	at := add(w, v, &inventory.Location{Name: name, City: "Kiel", Country: name[:2], Address: "x"})
	add(w, v, &inventory.VLAN{VLANID: 7, Name: name + "-vlan", LocationID: &at.ID})
	add(w, v, &inventory.Event{Severity: "low", Type: "site", Message: "at " + name, LocationID: &at.ID})
	var ports []*inventory.Interface
	for i := range devices {
		d := add(w, v, &inventory.Device{
			Hostname: fmt.Sprint(name, "-", i), IP: fmt.Sprintf("10.0.0.%d", i+1), Vendor: []string{"Cisco", "Juniper", name}[i%3], Model: "m" + name,
			LocationID: &at.ID, Tags: []string{"core"}, Notes: "of " + name,
		})
		for _, port := range []string{"eth0", "eth1"} {
			ports = append(ports, add(w, v, &inventory.Interface{DeviceID: d.ID, Name: port, Description: name}))
		}
		add(w, v, &inventory.Event{Severity: "high", Type: "device", Message: "on " + name, DeviceID: &d.ID, InterfaceID: &ports[len(ports)-1].ID})
		for n := range 2 {
			add(w, v, &inventory.Metric{DeviceID: d.ID, CPU: new(float64(10*n + i)), TS: new(w.clock.now().Add(-time.Duration(n) * time.Minute))})
		}
	}
	trunk, vlan := add(w, v, &inventory.Interface{DeviceID: ports[0].DeviceID, Name: "trunk", Mode: "trunk"}), add(w, v, &inventory.VLAN{VLANID: 8, Name: name, LocationID: &at.ID})
	add(w, v, &inventory.TaggedVLAN{InterfaceID: trunk.ID, VLANID: vlan.ID})
	rear := add(w, v, &inventory.RearPort{DeviceID: ports[0].DeviceID, Name: "rear", Label: name})
	front := add(w, v, &inventory.FrontPort{DeviceID: ports[0].DeviceID, Name: "front", Label: name, RearPortID: rear.ID})
	add(w, v, &inventory.Cable{AInterfaceID: &trunk.ID, BFrontPortID: &front.ID, Label: name})
	power := add(w, v, &inventory.Termination{DeviceID: &ports[0].DeviceID, Kind: inventory.TerminationPower, Name: name})
	feed := add(w, v, &inventory.Termination{LocationID: &at.ID, Kind: inventory.TerminationFeed, Name: name})
	add(w, v, &inventory.Cable{ATerminationID: &power.ID, BTerminationID: &feed.ID, Label: name})
	add(w, v, &inventory.MapPosition{DeviceID: ports[0].DeviceID, View: "all", X: 1, Y: 2})
	n := 0
	for _, c := range name {
		n = (n*31 + int(c)) % 65536
	}
	prefix := add(w, v, &inventory.Prefix{Prefix: fmt.Sprintf("10.%d.%d.0/24", n>>8, n&255), Description: name, LocationID: &at.ID})
	add(w, v, &inventory.Address{Address: strings.Replace(prefix.Prefix, ".0/", ".1/", 1), Description: name, InterfaceID: &ports[0].ID})
	add(w, v, &inventory.Device{Hostname: name + "-racked", LocationID: &at.ID, RackID: &add(w, v, &inventory.Rack{Name: name, LocationID: &at.ID}).ID, RackUnit: new(int64(1))})
	for i := 0; i+2 < len(ports); i += 2 {
		add(w, v, &inventory.Link{AInterfaceID: ports[i].ID, BInterfaceID: ports[i+2].ID})
	}
	return at, ports
}

// refer makes records here refer to others elsewhere, and to some that belong to no location.
func (w *world) refer(port *inventory.Interface, there *inventory.Location, vrf *inventory.VRF, kind *inventory.DeviceType) {
	one := func(r records.Record, field string, value any) records.Record {
		of, err := w.store.Schema().Of(r)
		ok(w.t, err)
		page, err := w.store.List(context.Background(), (&records.Query{Resource: of, Limit: 1}).Where(field, value))
		ok(w.t, err)
		return page.Records[0]
	}
	vlan := one(&inventory.VLAN{}, "location_id", there.ID).Meta().ID
	device := one(&inventory.Device{}, "id", port.DeviceID).(*inventory.Device)
	w.set(w.near, port, func(rec records.Record) {
		rec.(*inventory.Interface).Mode, rec.(*inventory.Interface).UntaggedVLANID = "access", &vlan
	})
	w.set(w.near, one(&inventory.Location{}, "id", *device.LocationID), func(rec records.Record) { rec.(*inventory.Location).ParentID = &there.ID })
	w.set(w.near, device, func(rec records.Record) { rec.(*inventory.Device).DeviceTypeID = &kind.ID })
	w.set(w.near, one(&inventory.Prefix{}, "location_id", *device.LocationID), func(rec records.Record) {
		rec.(*inventory.Prefix).VLANID, rec.(*inventory.Prefix).VRFID = &vlan, &vrf.ID
	})
	w.set(w.near, one(&inventory.Event{}, "device_id", device.ID), func(rec records.Record) {
		rec.(*inventory.Event).AcknowledgedBy = &w.users["root"].ID
	})
	add(w, w.near, &inventory.Address{Address: "10.9.9.9/24", VRFID: &vrf.ID, InterfaceID: &port.ID})
	add(w, w.near, &inventory.TaggedVLAN{InterfaceID: one(&inventory.Interface{}, "name", "trunk").Meta().ID, VLANID: vlan})
}

// fill adds two locations that are the same in each world, others, and changes across them.
func (w *world) fill() {
	var elsewhere []*inventory.Location
	var foreign []*inventory.Interface
	more := func(n int) {
		for range n {
			at, ports := w.site(w.others, fmt.Sprintf("far-%d-%d", w.seed, len(elsewhere)), 1+w.seed)
			elsewhere, foreign = append(elsewhere, at), append(foreign, ports...)
		}
	}
	more(1)
	here, ports := w.site(w.near, "near-1", 3)
	vrf, kind := add(w, w.near, &inventory.VRF{Name: "vermilion"}), add(w, w.near, &inventory.DeviceType{Manufacturer: "Cisco", Model: "m"})
	add(w, w.near, &inventory.PortTemplate{DeviceTypeID: kind.ID, Kind: inventory.PortInterface, Name: "eth0"})
	w.hidden = []string{vrf.ID, "vermilion", kind.ID, w.users["root"].ID}
	w.refer(ports[0], elsewhere[0], vrf, kind)
	more(w.seed)
	also, others := w.site(w.near, "near-2", 2)
	w.granted = []string{here.ID, also.ID}
	add(w, w.near, &inventory.Link{AInterfaceID: ports[1].ID, BInterfaceID: others[1].ID})
	for i, port := range foreign[:1] { // from here to there, and there
		rear, err := w.store.List(context.Background(), (&records.Query{Resource: records.Of[inventory.RearPort](w.store.Schema())}).Where("device_id", ports[0].DeviceID))
		ok(w.t, err)
		add(w, w.others, &inventory.Cable{AInterfaceID: &port.ID, BRearPortID: &rear.Records[i].Meta().ID, Label: "behind-cable"})
	}
	for i := range w.seed { // between here and there
		add(w, w.others, &inventory.Link{AInterfaceID: ports[i].ID, BInterfaceID: foreign[i].ID})
		add(w, w.others, &inventory.Event{Severity: "low", Type: "border", Message: "at the border", DeviceID: &ports[0].DeviceID, LocationID: &elsewhere[0].ID})
		add(w, w.others, &inventory.Device{Hostname: fmt.Sprint("nowhere-", i), Vendor: "Cisco"})
		add(w, w.others, &inventory.VLAN{VLANID: int64(i + 1), Name: "everywhere"})
	}
	name := func(text string) func(rec records.Record) {
		return func(rec records.Record) { rec.(*inventory.Device).Notes = text }
	}
	move := func(to *string, notes string) func(rec records.Record) {
		return func(rec records.Record) {
			d := rec.(*inventory.Device)
			d.LocationID, d.Notes = to, notes
		}
	}
	leaving := add(w, w.near, &inventory.Device{Hostname: "leaving", LocationID: &here.ID})
	lost := add(w, w.near, &inventory.Device{Hostname: "lost", LocationID: &also.ID})
	entering := add(w, w.others, &inventory.Device{Hostname: "entering", LocationID: &elsewhere[0].ID})
	w.set(w.near, leaving, name("before"))
	w.set(w.near, leaving, move(&elsewhere[0].ID, fmt.Sprint("left for ", w.seed)))
	for i := range w.seed {
		w.set(w.others, leaving, name(fmt.Sprint("behind-", i)))
	}
	w.set(w.near, lost, move(nil, fmt.Sprint("left for ", w.seed)))
	w.set(w.others, entering, move(&elsewhere[0].ID, fmt.Sprint("from ", w.seed)))
	ok(w.t, w.near.Delete(context.Background(), records.Caller{Name: "someone"}, records.Of[inventory.Device](w.store.Schema()), records.Edit{ID: lost.ID}))
	hash, err := w.hasher.Hash(context.Background(), password)
	ok(w.t, err)
	w.ids["users"] = []string{w.users["root"].ID, w.users["editor"].ID}
	for _, role := range limitedRoles {
		u := &inventory.User{Username: "limited-" + string(role), Email: string(role) + "@example.net", Role: role, PasswordHash: hash, LocationIDs: w.granted}
		w.users["limited-"+string(role)] = add(w, w.near, u)
	}
	w.set(w.near, ports[0], func(rec records.Record) { rec.(*inventory.Interface).Description = "last" })
}

// send sends a request of a limited user. A stream ends with the last change of fill.
func (w *world) send(role inventory.Role, op openapi.Operation, target *url.URL, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	u := w.user("limited-" + string(role))
	token, _, err := w.tokens.Issue(auth.Identity{UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role), Epoch: u.Epoch})
	ok(w.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, op.Method, "/", strings.NewReader(body))
	r.URL = target
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	var to http.ResponseWriter = rec
	if op.ID == "streamChanges" {
		to = &untilLast{rec, cancel}
	}
	w.api.ServeHTTP(to, r)
	return rec
}

// untilLast ends a stream with the last change of fill.
type untilLast struct {
	*httptest.ResponseRecorder
	end func()
}

func (u *untilLast) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"after":"last"`)) {
		u.end()
	}
	return u.ResponseRecorder.Write(p)
}

// positions are those of the log, of which a limited user sees the number.
var positions = regexp.MustCompile(`[0-9a-f]{16}-[0-9a-f]{8}`)

// answer returns a response without what differs between equal ones.
func answer(rec *httptest.ResponseRecorder) string {
	h := maps.Clone(rec.Header())
	delete(h, "X-Request-Id")
	delete(h, "X-Response-Time")
	return fmt.Sprint(rec.Code, h, positions.ReplaceAllString(masked(rec.Body.String()), "POSITION"))
}

// difference returns the parts of two answers that differ first.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(i-100, 0)
	return fmt.Sprintf("...%.300s\nand ...%.300s", a[from:], b[from:])
}

// gets returns the GET operations.
func gets(w *world) []openapi.Operation {
	return append(slices.DeleteFunc(httpapi.Operations(w.api), func(op openapi.Operation) bool { return op.Method != "GET" }), httpapi.Foreign(w.api)...)
}

// queries returns queries that read much, of a world with these records.
func queries(op openapi.Operation, ids map[string][]string) []string {
	all := []string{""}
	switch {
	case op.ID == "listChanges" || op.ID == "streamChanges":
		all = []string{"since=0"}
		if op.ID == "listChanges" {
			all = append(all, "since=0&limit=1", "since=0&limit=1000&resource=devices", "since=0&limit=7&resource=links&resource=events")
		}
	case op.ID == "summarize":
		all = nil
		for _, r := range builtIn.Resources() {
			for _, f := range r.Fields() {
				if f.Counted {
					all = append(all, url.Values{"resource": {r.Name}, "by": {f.Name}}.Encode())
				}
			}
		}
	case op.ID == "showTopology":
		for _, id := range ids["locations"] {
			all = append(all, "depth=9&location_id="+id, "state=up&limit=2&location_id="+id)
		}
	case op.ID == "showNeighbors":
		all = append(all, "depth=9", "depth=3&state=up", "depth=2&limit=1")
	case op.ID == "showPaths":
		for _, from := range ids["devices"] {
			for i, to := range ids["devices"] {
				all = append(all, "from="+from+"&to="+to+"&state=any&disjoint="+[]string{"none", "link", "node"}[i%3])
			}
		}
	case op.ID == "showFailures":
		all = append(all, "state=any", "limit=1")
	case op.ID == "trace":
		all = nil
		for n := range 60 { // ports are among the first records
			for i, world := range []string{"a-0000-7000", "b-0000-7001"} {
				all = append(all, fmt.Sprintf("%s_id=0190000%s-8000-%012x", []string{"interface", "front_port", "rear_port", "termination"}[(n+i)%4], world, n/2))
				all = append(all, fmt.Sprintf("interface_id=0190000%s-8000-%012x", world, n))
			}
		}
	case op.ID == "search":
		all = nil
		for _, text := range []string{"far", "near", "near-1", "eth0", "a", "Cisco", "10.0.0.0/8", "10.0.0.1", "00:00", "1", "far-1-0", unknown} {
			all = append(all, url.Values{"q": {text}}.Encode(), url.Values{"q": {text}, "limit": {"2"}}.Encode())
		}
	case op.ID == "getMetricHistory":
		all = append(all, "step=raw&from=2026-01-31T11:00:00Z&to=2026-01-31T13:00:00Z")
	case op.Tag == "foreign" && strings.HasPrefix(op.Path, "/netbox/api/dcim/d"): // with filters that read other records
		all = append(all, "limit=0", "site=far", "site=near-1&role=core", "region_id="+unknown, "manufacturer=cisco", "q=far", "tenant=red", "rack=far", "device_type=x&limit=1&offset=1")
	case op.Tag == "foreign":
		all = append(all, "limit=0", "q=far", "limit=1&offset=1", "start=0&limit=2", "brief=1", "device=far-1-0&device=near-1")
	case op.Filters != nil:
		all = []string{""}
		for _, query := range []string{"", "&q=a", "&status=active", "&within=10.0.0.0/8", "&hostname=far-1-0"} {
			if op.ID == "listZone" {
				query = "origin=example.org" + query
			}
			all = append(all, strings.TrimPrefix(query, "&"))
		}
	case op.List != nil:
		all = append(all, "limit=2", "limit=1&page=2", "limit=2&cursor=", "q=far", "q=near", "q=a", "q=0", "count=false&limit=1", "fields=id,version")
		for _, f := range op.List.Fields() {
			if f.Sortable() {
				all = append(all, "limit=2&sortby="+f.Name+":desc")
			}
		}
		values := []string{"far-1-0", "near-1", "eth0", "Cisco", "core", "active", "10.0.0.0/8", "true", "7", "2020-01-01T00:00:00Z"}
		for i, p := range op.List.Parameters() {
			for _, n := range []int{i, i + 3, i + 7} {
				all = append(all, url.Values{p.Name: {values[n%len(values)]}}.Encode())
			}
		}
		all = append(all, "format=csv", "format=jsonl&q=a", "format=yaml&limit=2", "format=yaml&keys=natural", "format=csv&keys=natural")
		if op.ID == "listMetrics" {
			all = append(all, "format=csv&latest=false", "latest=false", "sort=cpu:desc&limit=2", "latest=false&limit=3&sortby=ts:asc")
		}
	}
	return all
}

// TestWorlds: a limited user can't tell two worlds apart that differ only in what is elsewhere, by
// any route.
func TestWorlds(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	a, b := newWorld(t, 1), newWorld(t, 3)
	for _, op := range gets(a) {
		ids := []string{unknown}
		if strings.Contains(op.Path, "{id}") {
			r, _ := builtIn.Named(strings.Split(op.Path, "/")[1])
			if op.Tag == "foreign" { // a list has records of one of these, or derives objects of them
				r, _ = builtIn.Named("interfaces")
				for _, name := range []string{"devices", "locations", "addresses", "prefixes", "cables"} {
					ids = append(append(ids, a.ids[name]...), b.ids[name]...)
				}
			}
			if op.Tag == "metrics" && strings.Contains(op.Path, "device") {
				r, _ = builtIn.Named("devices")
			}
			ids = append(ids, a.ids[r.Name]...)
			ids = append(ids, b.ids[r.Name]...)
			slices.Sort(ids)
			ids = slices.Compact(ids)
		}
		found := 0
		for _, id := range ids {
			for i, query := range queries(op, b.ids) {
				if testing.Short() && i%5 != 0 {
					continue
				}
				if i > 0 && !slices.Contains(a.granted, id) && id != unknown && i%7 != 0 {
					continue // a sample
				}
				target := &url.URL{Path: strings.NewReplacer("{id}", id).Replace(op.Path), RawQuery: query}
				role := limitedRoles[i%3]
				x, y := a.send(role, op, target, ""), b.send(role, op, target, "")
				if answer(x) != answer(y) {
					t.Fatalf("%s: %s differs: %s", role, target, difference(answer(x), answer(y)))
				}
				if x.Code == 200 {
					found++
				}
				for _, hidden := range append([]string{"far-1", "nowhere-", "at the border", "behind-", "left for", "0190000b"}, a.hidden...) {
					if strings.Contains(x.Body.String(), hidden) && !strings.Contains(query, hidden) {
						t.Fatalf("%s: %s shows %s: %s", role, target, hidden, x.Body)
					}
				}
			}
		}
		placeless := slices.Contains([]string{"audit-logs", "custom-fields", "vrfs", "device-types", "port-templates"}, op.Tag)
		if want := !placeless && op.ID != "listUsers" && op.ID != "getImport"; want != (found > 0) && op.Tag != "foreign" {
			t.Errorf("%s %s: found is %d", op.Method, op.Path, found)
		}
	}
}

// TestRandomWorlds: nor by random requests.
func TestRandomWorlds(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	a, b := newWorld(t, 1), newWorld(t, 2)
	ids, ops := map[string][]string{}, slices.DeleteFunc(gets(a), func(op openapi.Operation) bool { return op.ID == "streamChanges" })
	for name := range a.ids {
		ids[name] = slices.Concat(a.ids[name], b.ids[name])
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 6 {
			op := rapid.SampledFrom(ops).Draw(t, "operation")
			target := randomTarget(t, op, ids)
			role := rapid.SampledFrom(limitedRoles).Draw(t, "role")
			other := *target
			if x, y := answer(a.send(role, op, target, "")), answer(b.send(role, op, &other, "")); x != y {
				t.Fatalf("%s: %s differs: %s", role, target, difference(x, y))
			}
		}
	})
}

// elsewhere returns the records that touch no granted location, and are not the user's own.
func (w *world) elsewhere(own string) (found, all map[string]records.Record) {
	w.t.Helper()
	found, all = map[string]records.Record{}, map[string]records.Record{}
	schema := w.store.Schema()
	for _, r := range schema.StoredResources() {
		if slices.Contains([]string{"audit-logs", "receipts", "sessions", "jobs"}, r.Name) {
			continue
		}
		page, err := w.store.List(context.Background(), &records.Query{Resource: r})
		ok(w.t, err)
		for _, rec := range page.Records {
			all[rec.Meta().ID] = rec
		}
	}
	var touches func(rec records.Record) bool
	touches = func(rec records.Record) bool {
		r, err := schema.Of(rec)
		ok(w.t, err)
		return slices.ContainsFunc(r.Within, func(name string) bool {
			f, _ := r.Field(name)
			id, _ := f.Value(rec).(string)
			return slices.Contains(w.granted, id) || name != "id" && id != "" && touches(all[id])
		})
	}
	for id, rec := range all {
		if id != own && !touches(rec) {
			found[id] = rec
		}
	}
	return found, all
}

// some returns the id of a record, of three in four that is in each world.
func (w *world) some(t *rapid.T, resource string) string {
	ids := w.ids[resource]
	if rapid.IntRange(0, 3).Draw(t, "near") > 0 {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.HasPrefix(id, "0190000b") })
	}
	return rapid.SampledFrom(ids).Draw(t, resource)
}

// change returns the body of a valid change, whose references may lead elsewhere.
func (w *world) change(t *rapid.T, op openapi.Operation, r *records.Resource, id string) string {
	o := object{}
	for _, f := range r.Fields() {
		switch {
		case f.Hidden || f.ReadOnly || op.Method == "PATCH" && rapid.IntRange(0, 3).Draw(t, f.Name) > 0:
		case f.Ref != nil && rapid.IntRange(0, 5).Draw(t, f.Name) > 0:
			o[f.Name] = w.some(t, f.Ref.To)
		case f.Required && f.Ref == nil || f.Format == "line" && f.Enum == nil:
			o[f.Name] = proper(t, f)
		}
	}
	var body any = o
	switch {
	case r.Name == "events" && op.Method == "PATCH":
		o = object{"acknowledged": true}
		body = o
	case op.Method == "DELETE":
		body = []string{id}
	}
	if op.Method == "PATCH" && !strings.Contains(op.Path, "{id}") {
		o["id"] = id
		body = []object{o}
	}
	if op.Method == "DELETE" && strings.Contains(op.Path, "{id}") {
		return ""
	}
	doc, err := json.Marshal(body)
	ok(w.t, err)
	return string(doc)
}

// TestChangesElsewhere: random changes of limited users change nothing elsewhere.
func TestChangesElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	ops := slices.DeleteFunc(httpapi.Operations(w.api), func(op openapi.Operation) bool {
		return op.Method == "GET" || op.ID == "logout" || strings.HasPrefix(op.Path, "/users/forgot") ||
			op.Method == "DELETE" && op.Tag == "locations" // without locations there is nothing left to change
	})
	placed := slices.DeleteFunc(slices.Clone(ops), func(op openapi.Operation) bool {
		r, ok := builtIn.Named(op.Tag)
		return !ok || !r.Placed()
	})
	done := map[int]int{}
	change := func(t *rapid.T) {
		role := rapid.SampledFrom([]inventory.Role{inventory.Admin, inventory.Admin, inventory.Admin, inventory.Editor}).Draw(t, "role")
		own := w.users["limited-"+string(role)].ID
		before, every := w.elsewhere(own)
		for range 10 {
			op := rapid.SampledFrom(ops).Draw(t, "operation")
			target, body := randomTarget(t, op, w.ids), randomBody(t, op, w.ids)
			if rapid.IntRange(0, 3).Draw(t, "valid") > 0 {
				op = rapid.SampledFrom(placed).Draw(t, "operation")
				r, _ := builtIn.Named(op.Tag)
				id := w.some(t, r.Name)
				target, body = &url.URL{Path: strings.ReplaceAll(op.Path, "{id}", id)}, w.change(t, op, r, id)
				if op.Method == "DELETE" && rapid.IntRange(0, 9).Draw(t, "dry") > 0 {
					target.RawQuery = "dry_run=true"
				}
			}
			target.Path = strings.ReplaceAll(target.Path, "{session}", unknown)
			done[w.send(role, op, target, body).Code]++
		}
		after, _ := w.elsewhere(own)
		for id, rec := range before {
			if !reflect.DeepEqual(after[id], rec) {
				t.Fatalf("%s: %#v has become %#v", role, rec, after[id])
			}
		}
		for id, rec := range after {
			if every[id] == nil {
				t.Fatalf("%s: there is a new %#v", role, rec)
			}
		}
		w.clock.forward(1e9)
	}
	rapid.Check(t, change)
	few := func() bool { return min(done[200], done[201], done[404]) < 10 }
	for rounds := 0; rounds < 9 && few() && !testing.Short(); rounds++ {
		rapid.Check(t, change)
	}
	if few() && !testing.Short() {
		t.Errorf("the statuses are %v", done)
	}
}
