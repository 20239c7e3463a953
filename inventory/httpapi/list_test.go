package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// rack creates ten devices at two locations.
func rack(t testing.TB) (*harness, []object) {
	g := newHarness(t, nil)
	var sites []object
	for _, name := range []string{"Berlin", "Bonn"} {
		sites = append(sites, g.create("/locations", location(name)))
	}
	for i := range 10 {
		d := with(device(fmt.Sprintf("core-%d", i)), "location_id", sites[i%2]["id"], "vendor", []string{"Juniper", "Cisco", "Arista"}[i%3])
		if i == 3 {
			d["status"], d["tags"], d["notes"] = "maintenance", []string{"red", "blue"}, "AT&T's <3"
		}
		g.create("/devices", d)
	}
	return g, sites
}

// metaOf returns the metadata of a list.
type metaOf struct {
	CurrentPage int    `json:"current_page"`
	Limit       int    `json:"limit"`
	TotalPages  *int   `json:"total_pages"`
	TotalCount  *int   `json:"total_count"`
	NextCursor  string `json:"next_cursor"`
}

// TestListMeta checks the metadata of lists.
func TestListMeta(t *testing.T) {
	t.Parallel()
	g, _ := rack(t)
	c := g.as("viewer")
	for query, want := range map[string]string{
		"":                        "1 10 1 10",
		"?limit=3":                "1 3 4 10",
		"?limit=3&page=4":         "4 3 4 10",
		"?page=7":                 "7 10 1 10",
		"?limit=1000":             "1 100 1 10", // reduced to the maximum
		"?vendor=Cisco":           "1 10 1 3",
		"?hostname=none":          "1 10 0 0",
		"?page=2147483647":        "2147483647 10 1 10",
		"?limit=2147483647":       "1 100 1 10",
		"?status=active&limit=9":  "1 9 1 9",
		"?tags=red&tags=blue":     "1 10 1 1",
		"?q=AT%26T":               "1 10 1 1",
		"?hostname__in=core-1,x":  "1 10 1 1",
		"?hostname__contains=RE-": "1 10 1 10",
	} {
		var page struct {
			Meta metaOf   `json:"meta"`
			Data []object `json:"data"`
		}
		a := c.Send("GET", "/devices"+query, nil).Want(200)
		a.JSON(&page)
		m := page.Meta
		if got := fmt.Sprint(m.CurrentPage, m.Limit, *m.TotalPages, *m.TotalCount); got != want || page.Data == nil {
			t.Errorf("%s: %s, want %s: %s", query, got, want, a.Body)
		}
	}
}

// TestCount checks that the total is that of the filter, and can be left out.
func TestCount(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	d := g.create("/devices", device("core-1"))["id"]
	for i := range 4 {
		g.create("/interfaces", with(port(d, fmt.Sprint("et-", i)), "description", []string{"a", "b"}[i%2], "mtu", 1500+i%2, "ifindex", i+1, "speed_mbps", 1000+i))
	}
	c := g.as("viewer")
	for query, want := range map[string]int{
		"description=a": 2, "mtu=1500": 2, "ifindex=3": 1, "speed_mbps__gt=1001": 2, "created_at__lte=2026-01-31T12:00:00Z": 4, "created_at__gt=2026-01-31T12:00:00Z": 0,
	} {
		var page struct {
			Meta metaOf   `json:"meta"`
			Data []object `json:"data"`
		}
		c.Send("GET", "/interfaces?"+query, nil).Want(200).JSON(&page)
		if *page.Meta.TotalCount != want || len(page.Data) != want {
			t.Errorf("%s: %d of %d, want %d", query, len(page.Data), *page.Meta.TotalCount, want)
		}
	}
	var page struct {
		Meta object   `json:"meta"`
		Data []object `json:"data"`
	}
	c.Send("GET", "/interfaces?count=false", nil).Want(200).JSON(&page)
	if _, there := page.Meta["total_count"]; there || len(page.Data) != 4 {
		t.Errorf("without the count there is %v", page.Meta)
	}
	c.Send("GET", "/interfaces?count=estimated", nil).Want(200).JSON(&page)
	if page.Meta["count"] != "exact" || page.Meta["total_count"] != 4.0 {
		t.Errorf("with an estimated count of few records there is %v", page.Meta)
	}
}

// TestBadQueries checks that invalid queries are refused and that the errors list what is
// allowed.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	for query, want := range map[string]string{
		"frob=1":    "frob unknown",
		"hostname=": "hostname empty",
		// The specification prescribes "Duplicate query parameter forbidden" word for word.
		"hostname=a&hostname=b":    "Duplicate query parameter forbidden: hostname",
		"page=1&page=2":            "Duplicate query parameter forbidden: page",
		"page=0":                   "page 1",
		"page=-1":                  "page must be",
		"page=x":                   "page must be",
		"page=9223372036854775807": "page must be",
		"limit=0":                  "limit must be",
		"limit=1e3":                "limit must be",
		"sortby=hostname":          "sortby created_at",
		"sortby=frob:asc":          "sortby must be",
		"sortby=hostname:up":       "sortby must be",
		"sortby=notes:asc":         "sortby must be",
		"sortby=tags:asc":          "sortby must be",
		"status=gone":              "status active",
		"last_seen=yesterday":      "last_seen timestamp",
		"location_id=7":            "location_id UUID",
		"ip=999.1.1.1":             "IP address",
		"hostname__frob=1":         "is an unknown filter",
		"location_id__gt=1":        "is an unknown filter",
		"fields=frob":              "fields \"frob\"",
		"count=maybe":              "count exact",
		"cursor=abc":               "cursor list",
		"cursor=&page=1":           "cursor page",
		"dry_run=true":             "dry_run unknown",
		"%zz=1":                    "Malformed query string",
	} {
		c.Send("GET", "/devices?"+query, nil).WantError(400, want)
	}
	c.Send("GET", "/vlans?status=frob", nil).WantError(400, "status one")
	c.Send("GET", "/users?password=x", nil).WantError(400, "password unknown")
	c.Send("GET", "/users?password_hash__startswith=$argon", nil).WantError(400, "password_hash__startswith unknown")
	c.Send("GET", "/users?sortby=password_hash:asc", nil).WantError(400, "sortby must be")
	c.Send("GET", "/users?fields=password", nil).WantError(400, "fields \"password\"")
	c.Send("DELETE", "/devices?status=active", []string{unknown}).WantError(400, "status unknown dry_run")
	c.Send("GET", "/debug/count?"+strings.Repeat("€", 30)+"=1", nil).WantError(400, strings.Repeat("€", 21)+"... is an unknown")
	c.Send("GET", "/debug/count?x=1", nil).WantError(400, "x unknown none")
}

// TestFilters checks that every resource can be sorted by each of its scalar fields, and filtered by
// each except the version, which is for ETags.
func TestFilters(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	for _, r := range builtIn.Resources() {
		for _, f := range r.Fields() {
			if f.Sortable() {
				c.Send("GET", "/"+r.Name+"?sortby="+f.Name+":desc", nil).Want(200)
			}
			if !f.Scalar() || f.Name == "version" {
				continue
			}
			c.Send("GET", "/"+r.Name+"?"+url.Values{f.Name: {sample(f)}}.Encode(), nil).Want(200)
		}
	}
}

// sample returns a value of a field for a query.
func sample(f *records.Field) string {
	switch {
	case f.Enum != nil:
		return f.Enum[0]
	case f.Kind == records.Time:
		return "2026-01-31T12:00:00Z"
	case f.Kind == records.Bool:
		return "true"
	case f.Kind == records.Int, f.Kind == records.Float:
		return "1"
	}
	return map[string]string{
		"uuid": unknown, "ip": "192.0.2.1", "cidr": "192.0.2.0/24", "network": "192.0.2.0/24", "interface-ip": "192.0.2.1/24", "mac": "00:1a:2b:3c:4d:5e",
		"email": "a@example.org", "timezone": "UTC", "speed": "10Gbps", "line": "x", "text": "x",
	}[f.Format]
}

// TestSort checks that fields apply in the order given, and that ids order equal records, so
// that pages neither overlap nor skip.
func TestSort(t *testing.T) {
	t.Parallel()
	g, _ := rack(t)
	c := g.as("viewer")
	got := values(data(t, c.Send("GET", "/devices?sortby=vendor:desc&sortby=hostname:desc&limit=5", nil)), "hostname")
	if got != "core-9 core-6 core-3 core-0 core-7" {
		t.Errorf("sorted by vendor and name: %s", got)
	}
	for _, order := range []string{"", "&sortby=vendor:asc", "&sortby=status:desc", "&sortby=location_id:asc&sortby=model:asc"} {
		var all []string
		for page := 1; page <= 4; page++ {
			all = append(all, strings.Fields(values(data(t, c.Send("GET", fmt.Sprintf("/devices?limit=3&page=%d%s", page, order), nil)), "hostname"))...)
		}
		slices.Sort(all)
		if got := strings.Join(slices.Compact(all), " "); got != "core-0 core-1 core-2 core-3 core-4 core-5 core-6 core-7 core-8 core-9" {
			t.Errorf("%s: the pages have %s", order, got)
		}
	}
}

// TestCursor follows lists by meta.next_cursor while records are created and deleted.
func TestCursor(t *testing.T) {
	t.Parallel()
	g, _ := rack(t)
	c := g.as("root")
	for _, order := range []string{"", "&sortby=vendor:desc", "&sortby=last_seen:asc&sortby=hostname:desc"} {
		var all []string
		cursor, pages := "", 0
		for more := true; more; pages++ {
			var page struct {
				Meta metaOf   `json:"meta"`
				Data []object `json:"data"`
			}
			c.Send("GET", "/devices?limit=4&cursor="+cursor+order, nil).Want(200).JSON(&page)
			all = append(all, strings.Fields(values(page.Data, "hostname"))...)
			if page.Meta.CurrentPage != 0 {
				t.Errorf("behind a cursor the page is %d", page.Meta.CurrentPage)
			}
			cursor, more = page.Meta.NextCursor, page.Meta.NextCursor != ""
		}
		if len(all) != 10 || pages != 3 {
			t.Errorf("%s: %d pages with %v", order, pages, all)
		}
	}
	var page struct {
		Meta metaOf   `json:"meta"`
		Data []object `json:"data"`
	}
	c.Send("GET", "/devices?limit=2", nil).Want(200).JSON(&page) // a page has one as well
	g.as("root").Send("DELETE", "/devices/"+page.Data[1]["id"].(string), nil).Want(200)
	next := data(t, c.Send("GET", "/devices?limit=2&cursor="+page.Meta.NextCursor, nil))
	if got := values(next, "hostname"); got != "core-2 core-3" {
		t.Errorf("behind a device that is gone come %s", got)
	}
	c.Send("GET", "/devices?sortby=hostname:asc&cursor="+page.Meta.NextCursor, nil).WantError(400, "cursor inconsistent")
	c.Send("GET", "/vlans?cursor="+page.Meta.NextCursor, nil).WantError(400, "cursor inconsistent")
}

// TestFields checks that a list and a single record have only the requested fields.
func TestFields(t *testing.T) {
	t.Parallel()
	g, _ := rack(t)
	c := g.as("viewer")
	rec := data(t, c.Send("GET", "/devices?limit=1&fields=hostname,id", nil).WantHeader("Content-Type", openapi.PartType))[0]
	if len(rec) != 2 || rec["hostname"] != "core-0" {
		t.Errorf("got %v", rec)
	}
	one := read(t, c.Send("GET", path("/devices", rec)+"?fields=hostname,vendor", nil).Want(200).WantHeader("Content-Type", openapi.PartType))
	if len(one) != 2 || one["hostname"] != "core-0" {
		t.Errorf("got %v", one)
	}
	c.Send("GET", path("/devices", rec)+"?fields=frob", nil).WantError(400, "fields \"frob\"")
}

// TestNested checks that the lists and counts of a parent's records accept the list query, and
// that an unknown parent is a 404.
func TestNested(t *testing.T) {
	t.Parallel()
	g, sites := rack(t)
	c := g.as("viewer")
	at := path("/locations", sites[1])
	if got := values(data(t, c.Send("GET", at+"/devices?sortby=hostname:desc&vendor=Cisco", nil)), "hostname"); got != "core-7 core-1" {
		t.Errorf("at the location are %s", got)
	}
	c.Send("GET", at+"/devices?frob=1", nil).WantError(400, "frob unknown")
	d := data(t, c.Send("GET", "/devices?hostname=core-4", nil))[0]
	g.create("/interfaces", port(d["id"], "et-0"))
	g.create("/interfaces", with(port(d["id"], "et-1"), "status", "down"))
	if got := values(data(t, c.Send("GET", path("/devices", d)+"/interfaces?status=down", nil)), "name"); got != "et-1" {
		t.Errorf("the device has %s", got)
	}
	for path, want := range map[string]string{
		path("/devices", d) + "/interfacecount": `{"status":"success","count":2}`,
		at + "/devicescount":                    `{"status":"success","count":5}`,
		"/debug/count":                          `{"count":2}`,
	} {
		if got := strings.TrimSpace(c.Send("GET", path, nil).Want(200).Body.String()); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path, message := range map[string]string{
		"/devices/" + unknown + "/interfaces":     "Device not found",
		"/devices/" + unknown + "/interfacecount": "Device not found",
		"/locations/" + unknown + "/devices":      "Location not found",
		"/locations/" + unknown + "/devicescount": "Location not found",
	} {
		c.Send("GET", path, nil).WantError(404, message)
	}
}

// TestNewestFirst checks that events are listed with the latest first, on further pages too.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	for i := range 4 {
		g.create("/events", object{"severity": "info", "type": "system", "message": fmt.Sprint(i)})
	}
	c := g.as("root")
	var page struct {
		Meta metaOf   `json:"meta"`
		Data []object `json:"data"`
	}
	c.Send("GET", "/events?limit=2", nil).Want(200).JSON(&page)
	rest := data(t, c.Send("GET", "/events?limit=9&cursor="+page.Meta.NextCursor, nil))
	if got := values(append(page.Data, rest...), "message"); got != "3 2 1 0" {
		t.Errorf("the events are %s", got)
	}
	if got := values(data(t, c.Send("GET", "/audit-logs?limit=1", nil)), "resource_type"); got != "event" {
		t.Errorf("the last entry is about a %s", got)
	}
}
