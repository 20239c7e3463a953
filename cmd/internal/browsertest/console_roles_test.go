package browsertest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// foreign is in the names of all records at a location that limited users do not see.
const foreign = "zzforeign"

// foreignPlace creates a location with a device, its rack, interfaces, a cable, a VLAN and an event, to some of
// which records that limited users see refer. It returns addresses of pages about them, and the ids that limited users do not see.
func (s *consoleServer) foreignPlace(n detailNetwork) (pages, hidden []string) {
	s.t.Helper()
	place := s.create("locations", map[string]any{"name": foreign + " place", "city": foreign})
	rack := s.create("racks", map[string]any{"name": foreign + " rack", "location_id": place, "height": 10})
	device := s.create("devices", map[string]any{"hostname": foreign + "-1", "location_id": place, "rack_id": rack, "rack_unit": 1, "role": foreign + "-role", "vendor": foreign})
	var ports [2]string
	for i, name := range []string{"eth0", "eth1"} {
		ports[i] = s.create("interfaces", map[string]any{"device_id": device, "name": foreign + name})
	}
	cable := s.create("cables", map[string]any{"a_interface_id": ports[0], "b_interface_id": ports[1], "label": foreign})
	vlan := s.create("vlans", map[string]any{"vlan_id": 3333, "name": foreign, "location_id": place})
	event := s.create("events", map[string]any{"severity": "critical", "type": "x", "message": foreign, "device_id": device})
	vrf := s.create("vrfs", map[string]any{"name": foreign})
	kind := s.create("device-types", map[string]any{"manufacturer": foreign, "model": foreign})
	for path, change := range map[string]map[string]any{
		"/locations/" + n.site: {"parent_id": place}, "/devices/" + n.sw1: {"device_type_id": kind},
		"/interfaces/" + n.eth0: {"mode": "access", "untagged_vlan_id": vlan}, "/prefixes/" + n.prefix: {"vrf_id": vrf, "vlan_id": vlan},
	} {
		s.api("PATCH", path, change, nil)
	}
	pages = []string{
		"/elevation/" + rack, "/elevation/" + rack + "/move?device=" + device + "&unit=3", "/map?device=" + device, "/map?location=" + place,
		"/map/graph.json?location=" + place, "/map/device/" + device, "/trace/interfaces/" + ports[0], "/r/devices/" + device + "/metrics.json",
		"/search?q=" + foreign[:5], "/search?part=palette&q=" + foreign[:5], "/pick?resource=devices&field=device_id&q=" + foreign[:5],
		"/suggest/devices?add-field=vendor", "/r/devices/export?format=csv", "/drift/devices?q=" + foreign[:5], "/prefixes?q=" + foreign[:5],
	}
	for resource, id := range map[string]string{"locations": place, "racks": rack, "devices": device, "interfaces": ports[0], "cables": cable, "vlans": vlan, "events": event} {
		for _, page := range []string{"", "/edit", "/delete", "/history"} {
			pages = append(pages, "/r/"+resource+"/"+id+page)
		}
	}
	return pages, []string{place, rack, device, ports[0], ports[1], cable, vlan, event, vrf, kind}
}

// TestConsoleRoles: in each role, every link and button of every page is one that the API allows, every operation
// that the API allows has its button, and others are refused.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 24)
	n := s.detailNetwork()
	pages, hidden := s.foreignPlace(n)
	var device map[string]any
	s.api("GET", "/devices/"+n.sw1, nil, &device)
	kind := device["device_type_id"]
	s.user("technician", map[string]any{"role": technician})
	s.user("limited", map[string]any{"role": "editor", "location_ids": []any{n.site}})
	s.user("local", map[string]any{"role": "admin", "location_ids": []any{n.site}})
	for _, name := range []string{"viewer", "editor", "technician", "limited", "local", "admin"} {
		t.Run(name, func(t *testing.T) {
			server := *s
			server.t = t
			v := server.visit(name)
			v.checkResources()
			v.checkRefusals(&server)
			own := func(d *reply) {
				if name == "limited" || name == "local" {
					assert.NotContains(t, d.text, foreign, d.address)
				}
			}
			starts := []string{"/console/", "/console/account", "/console/search?q=sw"}
			for _, page := range []string{"/r/devices/" + n.sw1, "/r/prefixes/" + n.prefix, "/r/events/" + n.event, "/trace/interfaces/" + n.eth0, "/elevation/" + n.rack, "/map?device=" + n.sw1} {
				if v.get("/console"+page).status == http.StatusOK {
					starts = append(starts, "/console"+page)
				}
			}
			require.True(t, name == technician || len(starts) == 9, starts)
			reached := v.walk(func(d *reply) {
				if d.status >= 400 {
					t.Errorf("%s: %d: %s", d.address, d.status, d.message())
				}
				own(d)
				for _, id := range hidden {
					if name == "limited" || name == "local" {
						assert.NotContains(t, d.text, id, d.address)
					}
				}
			}, starts...)
			if name == "limited" || name == "local" {
				for _, page := range pages {
					d := v.get("/console" + page)
					assert.Less(t, d.status, 500, page)
					own(d)
				}
			}
			v.submitAll(reached)
			s.api("GET", "/devices/"+n.sw1, nil, &device)
			if name == "limited" || name == "local" {
				assert.Equal(t, kind, device["device_type_id"], "forms keep what %s does not see", name)
			}
			if name == "admin" {
				stranger := server.visit("")
				for _, d := range reached {
					if d := stranger.get(d.address); d.status != http.StatusSeeOther || !strings.HasPrefix(d.location, "/console/signin") {
						assert.Equal(t, http.StatusUnauthorized, d.status, d.address)
					}
				}
			}
		})
	}
}

// message returns what a page says, for a test that fails.
func (d *reply) message() string {
	_, main, _ := strings.Cut(d.text, "<main")
	main = strings.ReplaceAll(main, "\n", " ")
	return main[:min(len(main), 600)]
}

// operation is one that the API may allow, with the page that offers it.
type operation struct {
	name   string
	does   records.Routes
	method string
	one    bool // of a record, not of a list
	body   string
	offer  func(*reply, string) bool
	action string // of a direct POST
}

// offers returns whether a page has an element with an attribute.
func offers(name, attr string) func(*reply, string) bool {
	return func(d *reply, suffix string) (has bool) {
		for n := range d.root.Descendants() {
			text := value(n, attr)
			has = has || text != "" && text == strings.ReplaceAll(name, "*", suffix)
		}
		return has
	}
}

func operations() []operation {
	return []operation{
		{"create", records.RouteCreate, "POST", false, `{}`, offers("/console/r/*/new", "href"), ""},
		{"change", records.RouteChange, "PATCH", true, `{}`, offers("/console/r/*/edit", "href"), ""},
		{"delete", records.RouteDelete, "DELETE", true, ``, offers("/console/r/*/delete", "href"), "/delete"},
		{"change many", records.RouteChangeMany, "PATCH", false, `[{}]`, offers("edit", "value"), "/bulk"},
		{"delete many", records.RouteDeleteMany, "DELETE", false, `[]`, offers("delete", "value"), "/bulk"},
	}
}

// allowed reports whether the API would not refuse the role of the visitor an operation, on the record with an id.
func (v *visitor) allowed(r *records.Resource, op operation, id string) bool {
	v.t.Helper()
	path := "/" + r.Name
	if op.one {
		path += "/" + id
	}
	return r.Routes.Has(op.does) && !slices.Contains([]int{403, 404, 405}, v.try(op.method, path+"?dry_run=true", op.body))
}

// try returns the status of a request to the API.
func (v *visitor) try(method, path, body string) int {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, bytes.NewReader([]byte(body)))
	require.NoError(v.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+v.consoleServer.token)
	response, err := http.DefaultClient.Do(r)
	require.NoError(v.t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(v.t, err)
	return response.StatusCode
}

// checkResources checks the lists, and the page of the first record of each, against the API.
func (v *visitor) checkResources() {
	v.t.Helper()
	home := v.get("/console/")
	for _, r := range v.schema.Resources() {
		if r.Internal || r.Show.Hidden {
			continue
		}
		lists := v.try("GET", "/"+r.Name+"?limit=1", "") == http.StatusOK
		list := v.get("/console/r/" + r.Name)
		assert.Equal(v.t, lists, list.status == http.StatusOK, "%s: list of %s", v.name, r.Name)
		led := offers("/console/r/*", "href")(home, r.Name)
		if r.Name == "audit-logs" { // its entries are sentences, on a page of their own
			led = offers("/console/*", "href")(home, "activity")
		}
		assert.Equal(v.t, lists, led, "%s: navigation to %s", v.name, r.Name)
		if !lists {
			continue
		}
		var page struct{ Data []map[string]any }
		v.api("GET", "/"+r.Name+"?limit=1", nil, &page)
		var id string
		detail := list
		if len(page.Data) > 0 && r.Routes.Has(records.RouteGet) {
			id = page.Data[0]["id"].(string)
			detail = v.get("/console/r/" + r.Name + "/" + id)
			assert.Equal(v.t, http.StatusOK, detail.status, detail.address)
		}
		for _, op := range operations() {
			shown, suffix := list, r.Name
			if op.one {
				shown, suffix = detail, r.Name+"/"+id
			}
			if op.one && id == "" || !op.one && op.does != records.RouteCreate && len(page.Data) == 0 || r.Name == "events" && op.does == records.RouteChange {
				continue
			}
			assert.Equal(v.t, v.allowed(r, op, id), op.offer(shown, suffix), "%s: button to %s %s", v.name, op.name, r.Name)
		}
	}
}

// checkRefusals sends forms without the right to, which change nothing.
func (v *visitor) checkRefusals(admin *consoleServer) {
	v.t.Helper()
	const changes = "/audit-logs?action__in=create,update,delete&limit=1"
	before, token := admin.count(changes), v.formToken()
	for _, r := range v.schema.Resources() {
		if r.Internal {
			continue
		}
		var page struct{ Data []map[string]any }
		admin.api("GET", "/"+r.Name+"?limit=1", nil, &page)
		if len(page.Data) == 0 || r.Name == "users" && page.Data[0]["username"] == v.name {
			continue
		}
		id := page.Data[0]["id"].(string)
		for _, op := range operations() {
			if v.allowed(r, op, id) {
				continue
			}
			action, values := "/console/r/"+r.Name, url.Values{"_token": {token}, "id": {id}, "do": {"edit"}, "_set": {"status"}, "_step": {"apply"}}
			for _, f := range r.Fields() {
				values.Set(f.Name, "1")
			}
			values.Set("id", id)
			if op.one {
				action += "/" + id
			}
			if op.does == records.RouteDeleteMany {
				values.Set("do", "delete")
			}
			d := v.submit(&sending{action: action + op.action, values: values})
			assert.Contains(v.t, []int{400, 403, 404, 405, 422}, d.status, "%s: %s %s: %s", v.name, op.name, r.Name, d.message())
			assert.Regexp(v.t, `<div class="(message|problems)[^>]*>.*[a-z]{3}`, d.message(), "%s: %s %s", v.name, op.name, r.Name)
		}
	}
	assert.Equal(v.t, before, admin.count(changes), "%s has changed something", v.name)
}

// submitAll sends each kind of form of some pages as it is. The API may find values invalid, but refuses no role.
// Nothing is deleted: single deletions are of an old version, and those of several records end with the preview.
func (v *visitor) submitAll(pages []*reply) {
	v.t.Helper()
	sent := map[string]bool{}
	var queue []*sending
	for _, d := range pages {
		queue = append(queue, d.forms()...)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		f := queue[0]
		key := kind(f.action) + f.button + f.values.Get("do")
		ends := strings.HasSuffix(f.action, "/signout") || strings.HasSuffix(f.action, "/theme") || f.values.Get("do") == "delete" && f.values.Has("_step")
		if sent[key] || ends {
			continue
		}
		sent[key] = true
		if strings.HasSuffix(f.action, "/delete") {
			f.values.Set("_match", `"0"`)
		}
		d := v.submit(f)
		assert.NotContains(v.t, []int{401, 403, 404, 405, 500}, d.status, "%s: %s %s of %s: %s", v.name, f.action, f.button, d.address, d.message())
		queue = append(queue, d.forms()...)
	}
	assert.NotEmpty(v.t, sent)
}
