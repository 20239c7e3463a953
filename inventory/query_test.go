package inventory_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func parse(t *testing.T, r *records.Resource, query string) (*records.Query, error) {
	t.Helper()
	values, err := url.ParseQuery(query)
	ok(t, err)
	return records.ParseQuery(r, values)
}

// fleet returns sample devices.
func fleet() []records.Record {
	var all []records.Record
	for i, line := range []string{
		"core-1 Juniper active 192.0.2.1 S1 a,b",
		"Core-2 Juniper offline 192.0.2.2 - a",
		"edge-1 Cisco active 2001:db8::1 S3 -",
		"edge-2 Arista maintenance 192.0.2.4 S4 b",
	} {
		w := strings.Fields(strings.ReplaceAll(line, " -", " \x01"))
		d := device(w[0])
		d.ID, d.CreatedAt, d.Version = id(i+1), at(i), int64(i+1)
		d.Vendor, d.Status, d.IP = w[1], inventory.DeviceStatus(w[2]), w[3]
		d.SerialNumber = strings.Trim(w[4], "\x01")
		d.RackPosition = []string{"R1, U2", "R 9", `a "b`, ""}[i]
		if w[5] != "\x01" {
			d.Tags = strings.Split(w[5], ",")
		}
		if i > 1 {
			d.LastSeen = ptr(at(10 * i))
			d.LocationID = ptr(id(9))
		}
		all = append(all, d)
	}
	return all
}

// TestFilters checks the result of each filter on the fleet.
func TestFilters(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                                          "1 2 3 4",
		"hostname=core-1":                           "1",
		"hostname=CORE-1":                           "",
		"vendor=Juniper&status=active":              "1",
		"status=ACTIVE":                             "1 3",
		"status__ne=active":                         "2 4",
		"status__in=active,offline":                 "1 2 3",
		`rack_position__in="R1, U2",R%209`:          "1 2",
		`rack_position__in="R1, U2","a ""b"`:        "1 3",
		"ip=2001:DB8:0::1":                          "3",
		"ip__startswith=192.":                       "1 2 4",
		"hostname__contains=ORE":                    "1 2",
		"hostname__startswith=core":                 "1 2",
		"hostname__startswith=ore":                  "",
		"serial_number__isnull=true":                "2",
		"serial_number__isnull=false":               "1 3 4",
		"serial_number__ne=S1":                      "2 3 4",
		"last_seen__gte=2026-01-31T12:20:00Z":       "3 4",
		"last_seen__gt=2026-01-31T13:20:00%2B01:00": "4",
		"last_seen__lt=2026-01-31T12:30:00Z":        "3",
		"last_seen__lte=2026-01-31T12:30:00Z&last_seen__ne=2026-01-31T12:30:00Z": "3",
		"last_seen__isnull=true":                 "1 2",
		"location_id=" + strings.ToUpper(id(9)):  "3 4",
		"location_id__isnull=false&vendor=Cisco": "3",
		"created_at__in=2026-01-31T12:01:00Z":    "2",
		"created_at__lt=2026-01-31T12:01:00Z":    "1",
		"id__in=" + id(2) + "," + id(3):          "2 3",
		"tags=a":                                 "1 2",
		"tags=a&tags=b":                          "1",
		"q=ARISTA":                               "4",
		"q=s3":                                   "3",
		"q=s":                                    "1 3 4",
		"q=100%25":                               "",
		"sortby=hostname:asc":                    "1 2 3 4",
		"sortby=hostname:desc":                   "4 3 2 1",
		"sortby=ip:asc":                          "1 2 4 3",
		"within=192.0.2.0/30":                    "1 2",
		"within=192.0.2.1/30":                    "1 2",
		"within=192.0.2.4":                       "4",
		"ip__within=0.0.0.0/0":                   "1 2 4",
		"ip__within=::/0":                        "3",
		"sortby=status:asc&sortby=version:desc":  "3 1 4 2",
		"sortby=last_seen:asc":                   "1 2 3 4",
		"sortby=last_seen:desc":                  "4 3 2 1",
		"limit=3":                                "1 2 3",
		"limit=3&page=2":                         "4",
		"limit=3&page=2147483647":                "",
	} {
		q, err := parse(t, records.Of[inventory.Device](schema), query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		page := q.Select(fleet())
		var got []string
		for _, rec := range page.Records {
			got = append(got, fmt.Sprint(rec.Meta().Version))
		}
		equal(t, query, strings.Join(got, " "), want)
	}
}

// TestBadQueries checks that errors name the invalid parameter and what is allowed.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][2]string{ // the codes, and words of the message
		"hostnme=a":                    {"hostnme:unknown", "unknown hostname? page limit within"},
		"hostnme__like=a":              {"hostnme__like:unknown", "unknown hostname__contains? page"},
		"hostname__like=a":             {"hostname__like:unknown", "unknown hostname__contains? hostname__ne"},
		"hostname__contians=a":         {"hostname__contians:unknown", "unknown hostname__contains?"},
		"created_at__after=2026":       {"created_at__after:unknown", "unknown created_at__gte?"},
		"status__like=a":               {"status__like:unknown", "unknown status__contains?"},
		"within=10.0.0.0/33":           {"within:bad_format", "network 192.0.2.0/24"},
		"ip__within=10.0.0":            {"ip__within:bad_format", ""},
		"hostname__within=::/0":        {"hostname__within:unknown", ""},
		"=a":                           {":unknown", ""},
		"notes=":                       {"notes:required", ""},
		"page=0":                       {"page:out_of_range", "integer 1"},
		"page=1.5":                     {"page:out_of_range", ""},
		"page=99999999999999999999":    {"page:out_of_range", "2147483647"},
		"page=":                        {"page:out_of_range", ""},
		"limit=-1":                     {"limit:out_of_range", ""},
		"hostname=%ED%A0%80":           {"hostname:bad_format", "UTF-8"}, // a surrogate
		"sortby=hostname":              {"sortby:not_one_of", "<field>:desc created_at"},
		"sortby=hostname:up":           {"sortby:not_one_of", ""},
		"sortby=tags:asc":              {"sortby:not_one_of", ""},
		"sortby=notes:asc":             {"sortby:not_one_of", ""},
		"sortby=ip:asc&sortby=ip:desc": {"sortby:not_one_of", "duplicate field ip"},
		"sortby=ip:asc&sortby=os:asc&sortby=role:asc&sortby=model:asc": {"sortby:too_many", "3"},
		"ip=1.2.3":                           {"ip:bad_format", "IP"},
		"ip__in=1.2.3.4,":                    {"ip__in:required", ""},
		"status=broken":                      {"status:not_one_of", "active offline"},
		"status__gte=active":                 {"status__gte:unknown", "unknown status__ne"},
		"status__":                           {"status__:unknown", ""},
		"status__eq=active":                  {"status__eq:unknown", "unknown status?"},
		"hostname__isnull=true":              {"hostname__isnull:unknown", ""},
		"serial_number__isnull=1":            {"serial_number__isnull:wrong_type", "true"},
		"version=1":                          {"version:unknown", ""}, // it is for ETags
		"version__gt=1":                      {"version__gt:unknown", ""},
		"last_seen=today":                    {"last_seen:wrong_type", ""},
		"last_seen=-30d":                     {"last_seen:wrong_type", ""},
		"last_seen__lt=30d":                  {"last_seen__lt:wrong_type", "-30d today"},
		"last_seen__lt=-30y":                 {"last_seen__lt:wrong_type", ""},
		"last_seen__lt=-":                    {"last_seen__lt:wrong_type", ""},
		"last_seen__lt=-d":                   {"last_seen__lt:wrong_type", ""},
		"last_seen__lt=--1d":                 {"last_seen__lt:wrong_type", ""},
		"last_seen__lt=-36501d":              {"last_seen__lt:wrong_type", ""},
		"last_seen__lt=-99999999999999999w":  {"last_seen__lt:wrong_type", ""},
		"last_seen=0000-01-01T00:00:00Z":     {"last_seen:wrong_type", ""},
		"location_id=berlin":                 {"location_id:bad_format", ""},
		"location_id__contains=1":            {"location_id__contains:unknown", ""},
		"q=":                                 {"q:required", ""},
		"q=%00":                              {"q:bad_format", ""},
		"q=%ff":                              {"q:bad_format", ""},
		"fields=hostnme":                     {"fields:unknown", "\"hostnme\" hostname? id"},
		"fields=hostname,hidden":             {"fields:unknown", "\"hidden\""},
		"count=no":                           {"count:not_one_of", "exact estimated none"},
		"cursor=x":                           {"cursor:bad_format", "cursor list"},
		"cursor=&page=1":                     {"cursor:not_allowed", "page"},
		"vendor=" + strings.Repeat("a", 501): {"vendor:too_long", "500"},
		"os__in=" + strings.Repeat("1,", 100) + "1": {"os__in:too_many", "100"},
	} {
		_, err := parse(t, records.Of[inventory.Device](schema), query)
		if err == nil {
			t.Errorf("%s is accepted", query)
			continue
		}
		isKind(t, err, records.Invalid)
		equal(t, query, codes(t, err), want[0])
		if !errtest.Names(err.Error(), "Invalid query: "+want[1]) {
			t.Errorf("%s: %v, want %s", query, err, want[1])
		}
	}
	_, err := parse(t, records.Of[inventory.Device](schema), "page=x&sortby=y&vendor=")
	equal(t, "every invalid parameter", fields(t, err, records.Invalid), []string{"page", "sortby", "vendor"})
	_, err = parse(t, records.Of[inventory.Device](schema), "vendor=a&vendor=b")
	equal(t, "a duplicate", err.Error(), "Duplicate query parameter forbidden: vendor")
	_, err = parse(t, records.Of[inventory.Device](schema), strings.Repeat("tags=a&", 51))
	equal(t, "too many", fields(t, err, records.Invalid), []string{"tags"})
}

// TestSecretsAreNoParameters checks that queries can't filter or sort by secret fields.
func TestSecretsAreNoParameters(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.User](schema)
	for _, name := range []string{"password", "password_hash", "password__startswith", "epoch", "reset_hash", "-"} {
		for _, query := range []string{name + "=a", "sortby=" + name + ":asc", "fields=" + name} {
			if _, err := parse(t, r, query); err == nil {
				t.Errorf("%s is accepted", query)
			}
		}
	}
	q, err := parse(t, r, "inactive_status=true")
	ok(t, err)
	if !q.Matches(&inventory.User{InactiveStatus: true}) || q.Matches(&inventory.User{}) {
		t.Error("inactive_status does not filter")
	}
}

// TestSpecifiedParameters checks that the documented filters and sort fields exist.
func TestSpecifiedParameters(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"devices":    "hostname ip vendor model os os_version status role serial_number rack_position location_id last_seen",
		"interfaces": "name type status admin_status oper_status speed speed_mbps mtu mac_address mode ifindex device_id ip_address",
		"locations":  "country", "vlans": "vlan_id name status", "users": "inactive_status",
	} {
		r, _ := schema.Named(name)
		var all []string
		for _, p := range r.Parameters() {
			all = append(all, p.Name)
		}
		for _, want := range strings.Fields(list) {
			if !slices.Contains(all, want) {
				t.Errorf("%s can't be filtered by %s", name, want)
			}
			if f, _ := r.Field(want); !f.Sortable() {
				t.Errorf("%s can't be sorted by %s", name, want)
			}
		}
	}
}

// TestFiltersNormalizeValues checks that a filter finds a value in any spelling.
func TestFiltersNormalizeValues(t *testing.T) {
	t.Parallel()
	i := port(id(1), "a")
	i.MACAddress, i.Speed = "00:1a:2b:3c:4d:5e", "10000mbps"
	ok(t, resourceOf(i).Check(i))
	for _, query := range []string{"mac_address=001A.2B3C.4D5E", "speed=10 gbps", "speed=10Gbps", "speed_mbps=10000", "device_id=" + strings.ToUpper(id(1))} {
		q, err := parse(t, records.Of[inventory.Interface](schema), strings.ReplaceAll(query, " ", "%20"))
		ok(t, err)
		if !q.Matches(i) {
			t.Errorf("%s finds nothing", query)
		}
	}
}

// TestPaging checks that consecutive pages, by number or by cursor, add up to the whole list
// in every order.
func TestPaging(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.Device](schema)
	for _, f := range r.Fields() {
		if !f.Sortable() {
			continue
		}
		for _, order := range []string{"asc", "desc"} {
			sorted := "sortby=" + f.Name + ":" + order
			q, err := parse(t, r, sorted)
			ok(t, err)
			want := q.Select(fleet()).Records
			equal(t, "by number: "+sorted, walk(t, sorted, false), want)
			equal(t, "by cursor: "+sorted, walk(t, sorted, true), want)
		}
	}
}

// walk reads the list one record per page.
func walk(t *testing.T, query string, cursors bool) (found []records.Record) {
	t.Helper()
	next := ""
	for n := 1; ; n++ {
		more := fmt.Sprintf("&limit=1&page=%d", n)
		if cursors {
			more = "&limit=1&cursor=" + next
		}
		q, err := parse(t, records.Of[inventory.Device](schema), query+more)
		ok(t, err)
		page := q.Select(fleet())
		if page.Total != 4 {
			t.Fatalf("the total of page %d is %d", n, page.Total)
		}
		found = append(found, page.Records...)
		if !page.More {
			return found
		}
		next = q.Cursor(page.Records[0])
	}
}

// TestCursorIsChecked checks that a cursor is valid only for its list and order, and that an
// invalid one is refused.
func TestCursorIsChecked(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.Device](schema)
	q, err := parse(t, r, "sortby=last_seen:asc&cursor=")
	ok(t, err)
	cursor := q.Cursor(fleet()[3])
	q, err = parse(t, r, "sortby=last_seen:asc&vendor=Cisco&cursor="+cursor)
	ok(t, err)
	equal(t, "the position", q.After, &records.Place{Values: []any{at(30)}, ID: id(4)})
	for _, query := range []string{
		"cursor=" + cursor, "sortby=last_seen:desc&cursor=" + cursor, "sortby=last_seen:asc&sortby=ip:asc&cursor=" + cursor,
		"sortby=last_seen:asc&cursor=" + cursor + "A", "sortby=last_seen:asc&cursor=" + cursor[1:], "cursor=" + strings.Repeat("A", 1<<17),
	} {
		_, err := parse(t, r, query)
		equal(t, query[:min(len(query), 80)], fields(t, err, records.Invalid), []string{"cursor"})
	}
	_, err = parse(t, records.Of[inventory.Link](schema), "sortby=last_seen:asc&cursor="+cursor)
	equal(t, "a cursor of devices for links", fields(t, err, records.Invalid), []string{"cursor"})
}

func TestShownFieldsAndCount(t *testing.T) {
	t.Parallel()
	q, err := parse(t, records.Of[inventory.Device](schema), "fields=ip,hostname,ip&count=false&limit=500")
	ok(t, err)
	equal(t, "the fields", []string{q.Fields[0].Name, q.Fields[1].Name}, []string{"ip", "hostname"})
	equal(t, "the rest", []any{len(q.Fields), q.Count, q.Limit, q.Page}, []any{2, false, int64(100), 1})
	equal(t, "the total", q.Select(fleet()).Total, int64(0))
}

// TestWhere checks that code can add conditions to those of a client.
func TestWhere(t *testing.T) {
	t.Parallel()
	q, err := parse(t, records.Of[inventory.Device](schema), "status__ne=offline&limit=1")
	ok(t, err)
	q.Where("vendor", "Juniper")
	equal(t, "the filters", fmt.Sprint(q.Filters), "[status__ne=offline vendor=Juniper]")
	page := q.Select(fleet())
	equal(t, "what is found", []any{page.Total, page.More, page.Records[0].Meta().ID}, []any{int64(1), false, id(1)})
	equal(t, "names", fmt.Sprint(records.Eq, records.StartsWith), "eq startswith")
}

// TestRelativeTimes checks that a filter finds what is older or newer than a time before now.
func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it is the midnight that begins the year 2000
		time.Sleep(36*time.Hour + 30*time.Second)
		now := time.Now().UTC()
		for query, want := range map[string]time.Time{
			"-90m": now.Add(-90*time.Minute - 30*time.Second), "-30d": now.Add(-30*24*time.Hour - 30*time.Second), "-2w": now.Add(-14*24*time.Hour - 30*time.Second),
			"today": now.Truncate(24 * time.Hour), "yesterday": now.Truncate(24 * time.Hour).Add(-24 * time.Hour),
		} {
			q, err := parse(t, records.Of[inventory.Device](schema), "last_seen__lt="+query)
			ok(t, err)
			before, then := device("a"), device("b")
			before.LastSeen, then.LastSeen = new(want.Add(-time.Second)), &want
			equal(t, query, []bool{q.Matches(before), q.Matches(then)}, []bool{true, false})
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("devices", "hostname__contains=a&sortby=ip:desc&page=2&tags=a&tags=b")
	f.Add("interfaces", "speed=10Gbps&mac_address=00-1A-2B-3C-4D-5E&mtu__in=1500,9000")
	f.Add("metrics", "ts__gte=2026-01-31T12:00:00Z&cpu__lt=1e400&cursor=")
	f.Add("devices", "last_seen__lt=-30d&last_seen__gte=yesterday")
	f.Add("users", "q=a&fields=id,email&count=false&limit=1000")
	f.Fuzz(func(t *testing.T, name, query string) {
		r, known := schema.Named(name)
		values, err := url.ParseQuery(query)
		if !known || err != nil {
			t.Skip()
		}
		q, err := records.ParseQuery(r, values)
		if err != nil {
			isKind(t, err, records.Invalid)
			if len(err.Error()) > 1<<17 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			return
		}
		if q.Limit < 1 || q.Limit > records.MaxLimit || q.Offset < 0 {
			t.Errorf("limit %d, offset %d", q.Limit, q.Offset)
		}
		q.Select([]records.Record{r.New(), r.New()})
		for _, c := range q.Filters {
			if c.String() == "" {
				t.Error("a filter without a name")
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	r := records.Of[inventory.Device](schema)
	sorted := url.Values{"sortby": {"last_seen:asc", "hostname:desc", "version:asc"}}
	q, err := records.ParseQuery(r, sorted)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("e30")
	for _, rec := range fleet() {
		f.Add(q.Cursor(rec))
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		values := maps.Clone(sorted)
		values.Set("cursor", cursor)
		q, err := records.ParseQuery(r, values)
		if err != nil {
			isKind(t, err, records.Invalid)
			return
		}
		q.Select(fleet()) // compares with the values of the cursor
	})
}

// TestLongNames checks that messages shorten long names at a character boundary.
func TestLongNames(t *testing.T) {
	t.Parallel()
	_, err := records.ParseQuery(records.Of[inventory.Device](schema), url.Values{strings.Repeat("€", 30): {"x"}})
	if e, ok := errors.AsType[*records.Error](err); !ok || e.Fields[0].Field != strings.Repeat("€", 21)+"..." {
		t.Errorf("the error is %v", err)
	}
	err = resourceOf(device("a")).Patch(patch(t, `{"`+strings.Repeat("é", 40)+`":1}`))(device("a"))
	if e, ok := errors.AsType[*records.Error](err); !ok || e.Fields[0].Field != strings.Repeat("é", 32)+"..." {
		t.Errorf("the error is %v", err)
	}
}

// TestAddressFilter: an address without a prefix length finds it with any.
func TestAddressFilter(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.Interface](schema)
	for query, want := range map[string]string{
		"ip_address=10.9.9.1": "10.9.9.1 10.9.9.1/24", "ip_address=10.9.9.1/24": "10.9.9.1/24", "ip_address=2001:DB8::1": "2001:db8::1/64",
		"ip_address=10.9.9.10": "10.9.9.10/24", "ip_address__in=10.9.9.1": "10.9.9.1",
	} {
		q, err := parse(t, r, query)
		ok(t, err)
		var all []records.Record
		for _, address := range []string{"10.9.9.1", "10.9.9.1/24", "10.9.9.10/24", "2001:db8::1/64", ""} {
			all = append(all, &inventory.Interface{Base: records.Base{ID: id(len(all) + 1)}, IPAddress: address})
		}
		var got []string
		for _, rec := range q.Select(all).Records {
			got = append(got, rec.(*inventory.Interface).IPAddress)
		}
		equal(t, query, strings.Join(got, " "), want)
	}
}
