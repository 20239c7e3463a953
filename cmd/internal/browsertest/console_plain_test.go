package browsertest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestConsoleNoScript: without JavaScript, somebody finds a device in the list, edits it, creates another one, and
// deletes it.
func TestConsoleNoScript(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 8)
	id := s.create("devices", map[string]any{"hostname": "plain-1", "role": "lab"})
	page := s.open("admin", "/r/devices", &Options{NoScript: true})
	page.Type("#lists-q", "plain\n")
	page.Await(`#lists-q[value="plain"]`)
	page.Submit(".lists-name")
	require.Equal(t, s.url+"/console/r/devices/"+id, page.Address())
	page.Submit(`.page-actions [data-key="edit"]`)
	page.Type("#f-vendor", "Acme")
	page.Submit(mainButton)
	s.landed(page, "devices", "saved")
	require.Equal(t, "Acme", s.record("/devices/" + id)["vendor"])
	page.Submit(".crumbs a")
	page.Submit(`[data-key="new"]`)
	page.Type("#f-hostname", "plain-2")
	page.Submit(mainButton)
	second := s.landed(page, "devices", "created")
	page.Submit(`.page-actions .button-bad`)
	page.Submit(".change-actions .button-bad")
	require.Equal(t, s.url+"/console/r/devices?done=deleted", page.Address())
	require.Zero(t, s.count("/devices?id__in="+second))
	require.Equal(t, 1, s.count("/devices?hostname=plain-1"))
	require.Empty(t, page.Outside())
}

// markup is a value that would be an element if a page did not escape it, in its text or in an attribute.
const markup = `"><xm>'&`

// markAll writes markup into each text of a record of each resource, as far as the API accepts it, and returns in how many.
func (v *visitor) markAll() (marked int) {
	v.t.Helper()
	for _, r := range v.schema.Resources() {
		var page struct{ Data []map[string]any }
		if r.Internal || r.Name == "users" || !r.Routes.Has(records.RouteList) || v.try(http.MethodGet, "/"+r.Name, "") != http.StatusOK {
			continue
		}
		v.api(http.MethodGet, "/"+r.Name+"?limit=100", nil, &page)
		for _, f := range r.Fields() {
			value := `"\"><xm>'&"`
			if f.Kind == records.List {
				value = "[" + value + "]"
			}
			if f.ReadOnly || f.Ref != nil || f.Kind != records.Text && f.Kind != records.List {
				continue
			}
			for i, rec := range page.Data {
				if v.try(http.MethodPatch, "/"+r.Name+"/"+rec["id"].(string), `{"`+f.Name+`":`+value+`}`) == http.StatusOK {
					marked++
				}
				if i == 3 {
					break
				}
			}
		}
	}
	return marked
}

// TestConsoleMarkup: markup in every field of every resource is text on every page.
func TestConsoleMarkup(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 8)
	n := s.detailNetwork()
	s.api("PATCH", "/users/"+s.first("/users?username=viewer")["id"].(string), map[string]any{"first_name": markup, "last_name": markup}, nil)
	s.create("vrfs", map[string]any{"name": "plain"})
	kind := s.create("device-types", map[string]any{"manufacturer": "Acme", "model": "plain"})
	s.create("port-templates", map[string]any{"device_type_id": kind, "kind": "interface", "name": "plain"})
	s.create("terminations", map[string]any{"location_id": n.site, "name": "plain"})
	s.create("events", map[string]any{"severity": "critical", "type": markup, "message": markup, "device_id": n.sw1})
	v := s.visit("admin")
	require.Greater(t, v.markAll(), 100)
	escaped := 0
	v.walk(func(d *reply) {
		require.Less(t, d.status, 400, d.address)
		for e := range d.root.Descendants() {
			assert.NotEqual(t, "xm", e.Data, d.address)
		}
		for e := range d.root.Descendants() {
			for _, a := range e.Attr {
				if e.Data == markup || a.Val == markup {
					escaped++
				}
			}
		}
	}, "/console/", "/console/search?q="+url.QueryEscape(markup), "/console/r/devices/"+n.sw1, "/console/trace/interfaces/"+n.eth0, "/console/elevation/"+n.rack, "/console/r/devices?q="+url.QueryEscape(markup)+"&model="+url.QueryEscape(markup))
	require.Greater(t, escaped, 50)

	page := s.open("admin", "/", nil)
	for _, at := range []string{"/", "/r/devices?model=" + url.QueryEscape(markup), "/r/devices/" + n.sw1 + "?tab=measurements&range=1h", "/r/devices/" + n.sw1, "/r/devices/" + n.sw1 + "/edit", "/map?location=" + n.site, "/prefixes", "/drift"} {
		page.Goto(s.url + "/console" + at)
		page.AwaitText("main", "")
		var elements int
		page.Eval(`document.querySelectorAll("xm").length`, &elements)
		require.Zero(t, elements, at)
	}
	page.Silent()
}
