package sqlstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// checkLists compares the pages of lists with filters with those of [records.Query.Select], for
// so many records, and values of such different frequency, that the store chooses each of its
// plans.
func checkLists(t *testing.T, store records.Store) {
	t.Helper()
	const number = 8000
	var all []records.Record
	for i, rec := range sqlstoretest.Devices(0, number) {
		d := rec.(*inventory.Device)
		d.Vendor, d.Role, d.OS = "odd", "first half", strconv.Itoa(i%3)
		if i%2 == 0 {
			d.Vendor = "even"
		}
		if i%2 == 0 == (i%100 != 0) {
			d.Role = "" // 1 % of the even ones, and all odd ones, have a role
		}
		if i%10 != 0 {
			d.LastSeen = nil
		}
		d.Notes = "Common remark"
		if i%1000 == 1 {
			d.Notes = "Rare remark"
		}
		all = append(all, d)
	}
	for n := 0; n < number; n += records.MaxItems {
		require.NoError(t, sqlstoretest.Create(t, store, all[n:n+records.MaxItems]...))
	}
	checkSummaries(t, store)
	r := records.Of[inventory.Device](store.Schema())
	filters := [][]string{
		{"vendor=even", "role=first half"},
		{"role=", "vendor=even"},
		{"vendor=even", "role=nobody"},
		{"vendor=odd"},
		{"status=active", "vendor=even", "role="},
		{"rack_position=R1-U1", "vendor=odd"},
		{"location_id=", "os=1"},
		{"vendor=even", "version=1"},
		{"within=10.0.0.0/8"},
		{"within=10.0.8.0/21", "role=first half"},
		{"within=10.0.0.16/28", "vendor=odd"},
		{"within=10.0.0.0/19", "rack_position=R1-U1"},
	}
	combinations := 0
	for _, texts := range filters {
		for _, sort := range []string{"", "hostname", "status", "vendor", "last_seen", "os", "model", "version", "ip"} {
			for _, desc := range []bool{false, true} {
				if combinations++; testing.Short() && combinations%7 != 0 {
					continue
				}
				q := &records.Query{Resource: r, Count: true, Limit: 20}
				for _, text := range texts {
					q.Filters = append(q.Filters, filter(r, text))
				}
				if f, ok := r.Field(sort); ok {
					q.Sort = []records.SortKey{{Field: f, Desc: desc}}
				}
				checkPages(t, store, q, all)
			}
		}
	}
	notes, _ := r.Field("notes")
	vendor, _ := r.Field("vendor")
	status, _ := r.Field("status")
	for _, q := range []records.Query{
		{Filters: []records.Filter{{Field: vendor, Op: records.Contains, Value: "D"}}},
		{Filters: []records.Filter{{Field: vendor, Op: records.Contains, Value: "D"}, filter(r, "os=1")}},
		{Filters: []records.Filter{{Field: vendor, Op: records.StartsWith, Value: "Ev"}, filter(r, "role=first half")}},
		{Filters: []records.Filter{{Field: vendor, Op: records.In, Value: []any{"odd", "even", "none"}}, {Field: status, Op: records.In, Value: []any{"active", "offline", "active"}}}},
		{Filters: []records.Filter{{Field: vendor, Op: records.In, Value: []any{"even", nil}}, filter(r, "role=first half")}},
	} {
		for _, name := range []string{"", "hostname", "status", "os_version", "version"} {
			q := q
			q.Resource, q.Count, q.Limit = r, true, 20
			if f, ok := r.Field(name); ok {
				q.Sort = []records.SortKey{{Field: f, Desc: true}}
			}
			checkPages(t, store, &q, all)
		}
	}
	texts := []string{"rare", "Common remark", "common", "no remark", "re", "rare remark" + strings.Repeat("s", 60), "Rare remark"}
	for _, text := range texts[:max(2, scaled(len(texts)))] {
		for _, q := range []records.Query{
			{Text: text},
			{Text: text, Filters: []records.Filter{filter(r, "status=active"), filter(r, "vendor=even")}},
			{Filters: []records.Filter{filter(r, "vendor=odd"), {Field: notes, Op: records.Contains, Value: text}}},
			{Text: "host-", Filters: []records.Filter{{Field: notes, Op: records.StartsWith, Value: text}}},
			{Filters: []records.Filter{filter(r, "vendor=odd"), {Field: notes, Op: records.Eq, Value: text}}},
		} {
			q.Resource, q.Count, q.Limit = r, true, 20
			hostname, _ := r.Field("hostname")
			q.Sort = []records.SortKey{{Field: hostname}}
			checkPages(t, store, &q, all)
		}
	}
}

// filter returns the filter of a text such as "vendor=odd". An empty value is no value.
func filter(r *records.Resource, text string) records.Filter {
	if network, ok := strings.CutPrefix(text, "within="); ok {
		return records.Filter{Field: r.Addresses()[0], Op: records.AnyWithin, Value: netip.MustParsePrefix(network)}
	}
	for _, f := range r.Fields() {
		n := len(f.Name)
		if n == 0 || len(text) <= n || text[:n] != f.Name || text[n] != '=' {
			continue
		}
		var value any = text[n+1:]
		if value == "" {
			value = nil
		} else if f.Kind == records.Int {
			value = int64(1)
		}
		return records.Filter{Field: f, Op: records.Eq, Value: value}
	}
	panic("no filter: " + text)
}

// checkPages compares the first pages of a query, and one with an offset.
func checkPages(t *testing.T, store records.Store, q *records.Query, all []records.Record) {
	t.Helper()
	for page := range 3 {
		want := q.Select(append([]records.Record{}, all...))
		got, err := store.List(t.Context(), q)
		what := fmt.Sprintf("page %d of %v by %v, offset %d", page, q.Filters, q.Sort, q.Offset)
		require.NoError(t, err, what)
		require.Equal(t, want.Total, got.Total, what)
		require.Equal(t, want.More, got.More, what)
		require.Equal(t, idsOf(want.Records), idsOf(got.Records), what)
		switch {
		case page == 1:
			q.After, q.Offset = nil, 30
		case len(got.Records) == 0:
			return
		default:
			q.After = q.PlaceOf(got.Records[len(got.Records)-1])
		}
	}
}

func idsOf(all []records.Record) []string {
	ids := make([]string, len(all))
	for i, rec := range all {
		ids[i] = rec.Meta().ID
	}
	return ids
}

// checkSearch tests that the index for searches follows each change of a record, within its transaction too.
func checkSearch(t *testing.T, store records.Store) {
	t.Helper()
	devices, interfaces := records.Of[inventory.Device](store.Schema()), records.Of[inventory.Interface](store.Schema())
	device := sqlstoretest.Devices(1, 2)[0].(*inventory.Device)
	device.Notes = `the 100% "old_one" \ and more`
	port := sqlstoretest.WithBase(2, &inventory.Interface{DeviceID: device.ID, Name: "eth0", Description: "uplink Zürich", Status: inventory.LinkUp})
	require.NoError(t, sqlstoretest.Create(t, store, device, port))
	find := func(from records.Reader, r *records.Resource, text string, want int) {
		t.Helper()
		page, err := from.List(t.Context(), &records.Query{Resource: r, Text: text, Count: true, Limit: 5})
		require.NoError(t, err)
		require.Len(t, page.Records, want, text)
		require.EqualValues(t, want, page.Total, text)
	}
	for text, want := range map[string]int{
		"HOST-": 1, "OLD_ONE": 1, "old-one": 0, "oldXone": 0, `"old`: 1, `0% "`: 1, `"" `: 0, `\ and`: 1, "%%%": 0, "___": 0,
		"10.0.0.1 ": 0, "e\x1f1": 0, "\x1f10": 0, "zür": 0, "uplink": 0,
	} {
		find(store, devices, text, want)
	}
	find(store, interfaces, "zürich", 1)
	find(store, interfaces, "zÜrich", 0) // only A to Z are folded
	find(store, interfaces, "ür", 1)
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		changed := records.Clone(port)
		changed.Description, changed.Version = "to Geneva", 2
		require.NoError(t, tx.Update(t.Context(), changed, 1))
		find(tx, interfaces, "zürich", 0)
		find(tx, interfaces, "geneva", 1)
		return nil
	}))
	find(store, interfaces, "geneva", 1)
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Delete(t.Context(), devices, device.ID, 1, nil) }))
	find(store, interfaces, "geneva", 0) // deleted with its device
	find(store, devices, "host-", 0)
	require.NoError(t, sqlstoretest.Create(t, store, device))
	find(store, devices, "host-", 1)
}

// checkPairs searches for all pairs of some characters in random strings, before and after some of
// them change, and compares with what the strings contain.
func checkPairs(t *testing.T, store records.Store) {
	t.Helper()
	devices := records.Of[inventory.Device](store.Schema())
	alphabet := []rune(`aAbÄé日"'*-% `)
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		runes := make([]rune, random.IntN(4))
		for i := range runes {
			runes[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(runes)
	}
	all := sqlstoretest.Devices(0, 60)
	for _, rec := range all {
		d := rec.(*inventory.Device)
		d.Vendor, d.Model, d.Notes = "x"+word(), "y"+word(), word()
		d.Tags = []string{word(), "z" + word()}
	}
	require.NoError(t, sqlstoretest.Create(t, store, all...))
	check := func() {
		t.Helper()
		for _, first := range alphabet {
			for _, second := range alphabet {
				pair, want := records.FoldASCII(string(first)+string(second)), []string{}
				for _, rec := range all {
					for _, f := range devices.Fields() {
						texts, _ := f.Value(rec).([]string)
						if text, ok := f.Value(rec).(string); ok {
							texts = []string{text}
						}
						if f.Search && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(records.FoldASCII(s), pair) }) {
							want = append(want, rec.Meta().ID)
							break
						}
					}
				}
				page, err := store.List(t.Context(), &records.Query{Resource: devices, Text: pair, Count: true, Limit: 100})
				require.NoError(t, err)
				require.Equal(t, want, idsOf(page.Records), "%q", pair)
				require.EqualValues(t, len(want), page.Total, "%q", pair)
			}
		}
	}
	check()
	for i := 0; i < len(all); i += 2 {
		changed := records.Clone(all[i].(*inventory.Device))
		changed.Notes, changed.Version = "z"+word(), 2
		require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Update(t.Context(), changed, 1) }))
		all[i] = changed
	}
	check()
}

// checkEstimates tests that an estimated total is exact if it is stored or small, and ends at a
// bound otherwise.
func checkEstimates(t *testing.T, store records.Store) {
	t.Helper()
	const number = records.MaxEstimate + records.MaxItems
	for n := 0; n < number; n += records.MaxItems {
		require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(n, n+records.MaxItems)...))
	}
	r := records.Of[inventory.Device](store.Schema())
	version := filter(r, "version=1")
	for _, c := range []struct {
		filters []records.Filter
		offset  int64
		want    records.Page
	}{
		{nil, 0, records.Page{Total: number}},
		{[]records.Filter{version}, 0, records.Page{Total: records.MaxEstimate, AtLeast: true}},
		{[]records.Filter{version}, number, records.Page{Total: records.MaxEstimate, AtLeast: true}},
		{[]records.Filter{version, filter(r, "rack_position=R1-U1")}, 0, records.Page{Total: 1}},
	} {
		q := &records.Query{Resource: r, Filters: c.filters, Count: true, Estimate: true, Limit: 1, Offset: c.offset}
		page, err := store.List(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, c.want.Total, page.Total, "%v", c.filters)
		require.Equal(t, c.want.AtLeast, page.AtLeast, "%v", c.filters)
	}
}

// checkPlacedEstimates tests that an estimated total of the records of some places is exact if it is small, and ends
// at a bound otherwise, by whichever way the records are found.
func checkPlacedEstimates(t *testing.T, store records.Store) {
	t.Helper()
	var all []records.Record
	var sites []string
	next := 0
	id := func() string { next++; return sqlstoretest.ID(next) }
	for _, devices := range []int{3, records.MaxPlacedEstimate + 100} {
		site := &inventory.Location{Base: records.Base{ID: id(), Version: 1}, Name: "site", SiteCode: fmt.Sprint(devices)}
		sites, all = append(sites, site.ID), append(all, site)
		for _, rec := range sqlstoretest.Devices(next+1, next+1+devices) {
			d := rec.(*inventory.Device)
			d.LocationID = &site.ID
			next++
			all = append(all, d, &inventory.Interface{
				Base: records.Base{ID: sqlstoretest.ID(100_000 + next), Version: 1}, DeviceID: d.ID, Name: "eth0", Status: inventory.LinkUp,
			})
		}
	}
	for chunk := range slices.Chunk(all, records.MaxItems) {
		require.NoError(t, sqlstoretest.Create(t, store, chunk...))
	}
	const bound = records.MaxPlacedEstimate
	for _, c := range []struct {
		places   []string
		resource string
		want     records.Page
	}{
		{sites[:1], "interfaces", records.Page{Total: 3}},
		{sites[1:], "interfaces", records.Page{Total: bound, AtLeast: true}},
		{sites, "interfaces", records.Page{Total: bound, AtLeast: true}},
		{sites[1:], "devices", records.Page{Total: bound + 100}},
	} {
		r, _ := store.Schema().Named(c.resource)
		q := &records.Query{Resource: r, Only: records.NewPlaces(c.places, ""), Count: true, Estimate: true, Limit: 2}
		page, err := store.List(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, page.Records, 2)
		require.Equal(t, c.want.Total, page.Total, "%s %v", c.resource, c.places)
		require.Equal(t, c.want.AtLeast, page.AtLeast, "%s %v", c.resource, c.places)
	}
}

// checkRememberedAudit tests that totals of the audit log, which a store remembers, have the entries
// that another store adds, and lack those that it prunes. change runs a statement in the database.
func checkRememberedAudit(t *testing.T, store, other records.Store, change func(text string)) {
	t.Helper()
	ctx := t.Context()
	v, by := records.New(other, nil), records.Caller{UserID: "u1", Name: "ada", Address: "192.0.2.1"}
	logs := records.Of[records.AuditLog](store.Schema())
	devices := 0
	add := func(n int) {
		t.Helper()
		require.NoError(t, v.Create(ctx, by, sqlstoretest.Devices(devices, devices+n)...))
		require.NoError(t, v.Log(ctx, records.Caller{UserID: "u2", Address: by.Address}, "login", "user", "x", nil))
		devices += n
	}
	want := func(n int64) {
		t.Helper()
		for range 2 {
			page, err := store.List(ctx, (&records.Query{Resource: logs, Limit: 2, Count: true}).Where("user_id", "u1").Where("ip_address", by.Address))
			require.NoError(t, err)
			require.Equal(t, n, page.Total)
		}
	}
	add(10)
	want(10)
	change("DELETE FROM audit_logs WHERE id = (SELECT id FROM audit_chain WHERE seq = 2)") // which counting would notice
	want(10)
	add(3)
	want(13)
	require.ErrorIs(t, other.Change(ctx, func(tx records.Tx) error {
		entry, err := v.AuditEntry(by, "update", "device", "x", nil)
		return errors.Join(err, tx.Create(ctx, entry), errRolledBack)
	}), errRolledBack)
	want(13)
	for range 3 {
		add(400)
	}
	want(1212) // too many new ones: they were counted
	_, err := v.Prune(ctx, by, logs, records.Retention{MaxRecords: 10})
	require.NoError(t, err)
	page, err := other.List(ctx, (&records.Query{Resource: logs}).Where("user_id", "u1"))
	require.NoError(t, err)
	want(int64(len(page.Records)))
}

var errRolledBack = errors.New("rolled back")

// checkRemembered tests that totals of searches, which a store remembers, follow each change by
// another store.
func checkRemembered(t *testing.T, store, other records.Store) {
	t.Helper()
	ctx := t.Context()
	devices, events := records.Of[inventory.Device](store.Schema()), records.Of[inventory.Event](store.Schema())
	all := sqlstoretest.Devices(0, 10)
	require.NoError(t, sqlstoretest.Create(t, other, all...))
	for n := range 10 {
		event := sqlstoretest.WithBase(n, &inventory.Event{Severity: "info", Type: "system", Message: "hosts fail", DeviceID: new(sqlstoretest.ID(n / 2))})
		if n == 0 {
			event.DeviceID = nil
		}
		require.NoError(t, sqlstoretest.Create(t, other, event))
	}
	status := filter(devices, "rack_position=R0-U1")
	status.Op = records.Ne
	without, _ := events.Field("device_id")
	want := func(found, placed, alone int64) {
		t.Helper()
		for range 2 { // the second total is remembered
			for _, c := range []struct {
				q    records.Query
				want int64
			}{
				{records.Query{Resource: devices, Text: "host-"}, found},
				{records.Query{Resource: devices, Filters: []records.Filter{status}}, placed},
				{records.Query{Resource: events, Text: "ho", Filters: []records.Filter{{Field: without, Op: records.IsNull, Value: true}}}, alone},
			} {
				c.q.Count, c.q.Limit = true, 2
				page, err := store.List(ctx, &c.q)
				require.NoError(t, err)
				require.Equal(t, c.want, page.Total, "%v", c.q.Filters)
			}
		}
	}
	want(10, 9, 1)
	require.NoError(t, other.Change(ctx, func(tx records.Tx) error {
		changed := records.Clone(all[0].(*inventory.Device))
		changed.Hostname, changed.RackPosition, changed.Version = "renamed", "R0-U1", 2
		return tx.Update(ctx, changed, 1)
	}))
	want(9, 8, 1)
	require.NoError(t, other.Change(ctx, func(tx records.Tx) error { return tx.Delete(ctx, devices, sqlstoretest.ID(3), 1, nil) }))
	want(8, 7, 3) // its events have lost it
	require.NoError(t, sqlstoretest.Create(t, other, sqlstoretest.Devices(10, 11)...))
	want(9, 8, 3)
	rolledBack := errors.New("rolled back")
	require.ErrorIs(t, other.Change(ctx, func(tx records.Tx) error {
		require.NoError(t, tx.Delete(ctx, devices, sqlstoretest.ID(4), 1, nil))
		return rolledBack
	}), rolledBack)
	want(9, 8, 3)
}
