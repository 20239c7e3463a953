package storetest

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func listCases() []Case {
	return []Case{
		{"list/filters", "a filter that returns too much or too little shows records that nobody requested", checkFilters, true},
		{"list/search", "a search covers the fields that are declared for it, and folds the letters A to Z only", func(f *fixture) {
			for _, r := range f.some(stored) {
				for _, s := range []string{"ALPHA", "K", "i", "Ä", "%", "_", `\`, "'", "\u212a", ":3C:", "pha", "l_h", "al%", `\a"`, "a\x1fb"} {
					f.agrees(&records.Query{Resource: r, Text: s, Count: true, Limit: 2})
				}
			}
		}, true},
		{"list/random queries", "parts of a query must be right in combination", func(f *fixture) {
			for _, r := range f.some(public) {
				for range 15 {
					f.agrees(f.query(r))
				}
			}
		}, true},
		{"list/places", "a caller who is limited to some places sees and counts the records there, and no others", checkGrants, true},
		{"list/columns", "values that are read without their records are those of the records", checkProjections, true},
		{"list/counts", "a wrong total makes people look for records that do not exist", checkCounts, true},
		{"list/within", "a filter for a network finds its addresses, and no others", checkWithin, false},
		{"list/odd strings", "a string to search for is neither a pattern nor a statement", checkOddStrings, false},
		{"list/zones", "a time is the same in every time zone", checkZones, false},
		{"list/large strings", "a string that a field allows must be stored and found", checkLargeStrings, false},
	}
}

func pageCases() []Case {
	return []Case{
		{"page/every field", "pages must neither overlap nor skip a record, whatever they are sorted by", checkPages, true},
		{"page/deleted place", "a cursor must stay valid while records are created and deleted", checkPlaces, true},
		{"page/natural order", "people look for eth2 before eth10, on every page", checkNaturalOrder, false},
		{"page/address order", "people look for 10.0.0.2 before 10.0.0.10, on every page", checkAddressOrder, false},
		{"page/ids", "the order of ids is that of creation, and decides between records that are equal", checkOrderOfIDs, false},
	}
}

// filters compares the total and the first records of a query.
func (f *fixture) filters(r *records.Resource, limit int64, filters ...records.Filter) {
	f.agrees(&records.Query{Resource: r, Count: true, Limit: limit, Filters: filters})
}

// shared reports whether all resources have a field. It is tested with the first of them.
func shared(r *records.Resource, field *records.Field) bool {
	return r != stored[0] && slices.Contains([]string{"id", "created_at", "updated_at", "version"}, field.Column)
}

// operand returns a value to compare a field with.
func (f *fixture) operand(r *records.Resource, field *records.Field, op records.Op) any {
	switch {
	case op == records.IsNull:
		return f.IntN(2) == 0
	case op == records.Within || op == records.AnyWithin:
		address, _, _ := strings.Cut(f.present(r, field).(string), "/")
		addr := netip.MustParseAddr(address)
		return netip.PrefixFrom(addr, f.IntN(addr.BitLen()+1)).Masked()
	case op == records.In:
		values := make([]any, 1+f.IntN(5))
		if f.IntN(10) == 0 {
			values = make([]any, 100)
		}
		for i := range values {
			values[i] = f.present(r, field)
		}
		return values
	case op == records.Contains || op == records.StartsWith || op == records.Host && f.IntN(2) == 0:
		return f.part(f.present(r, field).(string), op == records.StartsWith)
	case field.Kind == records.List:
		return pick(f.Rand, oddElements())
	}
	return f.present(r, field)
}

// any returns a random record of a resource, or nil.
func (f *fixture) any(r *records.Resource) records.Record {
	if all := (&records.Query{Resource: r}).Select(f.model.of(r)).Records; len(all) > 0 {
		return pick(f.Rand, all)
	}
	return nil
}

// present returns a value that, in most cases, a record has.
func (f *fixture) present(r *records.Resource, field *records.Field) any {
	if rec := f.any(r); rec != nil && f.IntN(4) > 0 {
		if v := field.Value(rec); v != nil {
			return v
		}
	}
	switch {
	case field.Ref != nil:
		to, _ := schema.Named(field.Ref.To)
		return id(to, 1+f.IntN(many))
	case field.Column == "id":
		return id(r, f.IntN(2*many))
	}
	return f.value(field)
}

// part returns some characters of a string, in random case.
func (f *fixture) part(s string, prefix bool) string {
	runes := []rune(s)
	from := 0
	if !prefix {
		from = f.IntN(len(runes))
	}
	to := from + 1 + f.IntN(min(4, len(runes)-from))
	return strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && f.IntN(2) == 0 {
			return unicode.ToUpper(c)
		}
		return c
	}, string(runes[from:to]))
}

// checkFilters also makes comparisons for which there is no parameter: programs may use them.
func checkFilters(f *fixture) {
	ops := []records.Op{
		records.Eq, records.Ne, records.In, records.Gt, records.Gte, records.Lt, records.Lte, records.IsNull,
		records.Contains, records.StartsWith, records.Host, // the last three of strings only
	}
	for _, r := range f.some(stored) {
		for _, field := range r.Fields() {
			of := ops
			switch {
			case field.Column == "" || field.Kind == records.Object || shared(r, field):
				continue
			case field.Kind == records.List:
				of = ops[:2]
			case field.Kind != records.Text:
				of = ops[:8]
			}
			for _, op := range of {
				f.filters(r, 4, records.Filter{Field: field, Op: op, Value: f.operand(r, field, op)})
			}
			if field.Scalar() {
				f.filters(r, 0, records.Filter{Field: field, Op: records.In, Value: []any{}})
			}
		}
		f.filters(r, math.MaxInt64)
		f.agrees(&records.Query{Resource: r, Offset: math.MaxInt64, Limit: math.MaxInt64, Count: true})
		f.agrees(&records.Query{Resource: r, Offset: 3})
	}
}

// query returns a random query.
func (f *fixture) query(r *records.Resource) *records.Query {
	q := &records.Query{Resource: r, Count: f.IntN(2) == 0, Limit: int64(f.IntN(6)), Offset: int64(f.IntN(3))}
	for range f.IntN(4) {
		param := pick(f.Rand, r.Parameters())
		op := param.Op
		if op == records.Covers {
			op = records.In
		}
		q.Filters = append(q.Filters, records.Filter{Field: param.Field, Op: op, Value: f.operand(r, param.Field, op)})
	}
	if f.IntN(4) == 0 {
		q.Text = f.part(pick(f.Rand, oddStrings()), false)
	}
	for range f.IntN(4) {
		q.Sort = append(q.Sort, records.SortKey{Field: pick(f.Rand, sortable(r)), Desc: f.IntN(2) == 0})
	}
	if f.IntN(2) == 0 {
		q.After = q.PlaceOf(f.any(r))
	}
	return q
}

// sortable returns the fields that a list can be sorted by.
func sortable(r *records.Resource) []*records.Field {
	return slices.DeleteFunc(r.Fields(), func(field *records.Field) bool { return !field.Sortable() })
}

func checkOddStrings(f *fixture) {
	r := records.Of[inventory.Device](schema)
	model, _ := r.Field("model")
	notes, _ := r.Field("notes")
	odd := append([]string{"two\nlines", "\r\n\t"}, oddStrings()...)
	var all []records.Record
	for n, s := range odd {
		d := alone(r, n).(*inventory.Device)
		d.Model, d.Notes = strings.Join(strings.Fields(s+"."), " "), s+"."
		all = append(all, checked(d))
	}
	f.apply(create(all...))
	for _, s := range append(odd, "\x01", "a\x7fb", "'; DROP TABLE devices; --", "%' OR '1'='1", "\u202e") {
		f.filters(r, 2, records.Filter{Field: model, Op: records.Contains, Value: s})
		f.filters(r, 2, records.Filter{Field: notes, Op: records.StartsWith, Value: s})
	}
}

func checkZones(f *fixture) {
	r := records.Of[inventory.Device](schema)
	field, _ := r.Field("last_seen")
	seen := time.Date(2026, 1, 1, 0, 30, 0, 1000, time.FixedZone("east", 14*60*60))
	d := alone(r, 1).(*inventory.Device)
	d.LastSeen = &seen
	f.apply(create(checked(d)))
	for _, op := range []records.Op{records.Eq, records.Gte, records.Lte, records.Gt, records.Lt} {
		for _, t := range []time.Time{seen, seen.UTC(), seen.In(time.FixedZone("west", -90*60))} {
			f.filters(r, 0, records.Filter{Field: field, Op: op, Value: t})
		}
	}
	for _, shift := range []time.Duration{-time.Microsecond, time.Microsecond} {
		q := &records.Query{Resource: r, Sort: []records.SortKey{{Field: field}}}
		q.After = &records.Place{Values: []any{seen.Add(shift)}, ID: id(r, 1)}
		f.agrees(q)
	}
}

// checkLargeStrings gives each string the most characters that its field allows, of four bytes
// each, and half a million where there is no bound.
func checkLargeStrings(f *fixture) {
	for _, r := range f.resources {
		rec := full(r, 1)
		var filters []records.Filter
		for _, field := range r.Fields() {
			if field.Kind != records.Text || field.Column == "" || field.Format != "line" && field.Format != "text" {
				continue
			}
			size := 500_000.0
			if field.Max != nil {
				size = *field.Max
			}
			field.Set(rec, strings.Repeat("😀", int(size)))
			if field.Sortable() {
				filters = append(filters, records.Filter{Field: field, Value: field.Value(rec)})
			}
		}
		f.apply(create(append(samplesOf(r)[1:], checked(rec))...))
		for _, filter := range filters {
			f.agrees(&records.Query{Resource: r, Count: true, Sort: []records.SortKey{{Field: filter.Field}}, Filters: []records.Filter{filter}})
		}
	}
}

// checkCounts compares totals while records are deleted with others, and after changes that
// are rolled back.
func checkCounts(f *fixture) {
	f.counts()
	for _, r := range f.some(public) {
		for _, end := range []error{errRollback, nil, nil} {
			all := (&records.Query{Resource: r}).Select(f.model.of(r)).Records
			if len(all) > 1 {
				f.transaction(end, remove(all[f.IntN(len(all)/2+1)])) // most others refer to the first half
			}
		}
		f.counts()
	}
	f.empty() // of what is left of the data set
}

// counts compares the totals of all records, and of one value of each field with few values.
func (f *fixture) counts() {
	for _, r := range f.some(stored) {
		f.filters(r, 1)
		for _, field := range r.Fields() {
			if field.Scalar() && (len(field.Enum) > 0 || field.Counted || field.Ref != nil || field.Kind == records.Bool) {
				f.filters(r, 1, records.Filter{Field: field, Value: f.present(r, field)})
			}
		}
	}
}

func checkPages(f *fixture) {
	for _, r := range f.some(stored) {
		for _, field := range sortable(r) {
			if shared(r, field) {
				continue
			}
			f.walk(r, field, 10)
			sort := []records.SortKey{{Field: field, Desc: f.IntN(2) == 0}}
			f.agrees(&records.Query{Resource: r, Sort: sort, Limit: 3, Offset: int64(f.IntN(many + 1)), Count: true})
		}
	}
}

// walk reads the pages of an order in both directions, by cursor, and from positions without a record.
func (f *fixture) walk(r *records.Resource, by *records.Field, limit int, positions ...string) {
	for _, desc := range []bool{false, true} {
		q := &records.Query{Resource: r, Count: true, Sort: []records.SortKey{{Field: by, Desc: desc}}}
		f.agrees(q)
		want := q.Select(f.model.of(r)).Records
		q.Limit = int64(limit)
		for page := range slices.Chunk(want, limit) {
			f.agrees(q)
			q.After = q.PlaceOf(last(page))
		}
		for _, value := range positions {
			q.After = &records.Place{Values: []any{value}, ID: id(r, 2)}
			f.agrees(q)
			f.agrees(&records.Query{Resource: r, Sort: q.Sort, After: q.After})
		}
	}
}

func checkNaturalOrder(f *fixture) {
	r := records.Of[inventory.Location](schema)
	name, _ := r.Field("name")
	names := []string{
		"eth10", "eth2", "ETH2", "eth02", "eth1", "eth", "Ethernet1/10", "Ethernet1/2", "eth99999999", "eth100000000",
		"10", "9", "ä1", "eth2.10", "eth2.9", strings.Repeat("9", 30), strings.Repeat("9", 29),
	}
	for n, s := range names {
		l := minimal(r, n+1).(*inventory.Location)
		l.Name = s
		f.apply(create(l))
	}
	f.walk(r, name, 2, "eth5", "eth0002", "a", "z")
	renamed := records.Clone(f.model.records[id(r, 1)].(*inventory.Location))
	renamed.Name, renamed.Version = "eth3", 2
	f.apply(update(renamed))
	f.walk(r, name, 2)
	for _, s := range []string{"eth2", "ETH2", "eth02", "eth2.9", "eth10"} { // equal keys are not equal names
		f.filters(r, 5, records.Filter{Field: name, Value: s})
		f.filters(r, 5, records.Filter{Field: name, Op: records.In, Value: []any{s, "eth1", "EtH2"}})
	}
	cabinets := records.Of[cabinet](schema)
	slot, _ := cabinets.Field("slot")
	for n, s := range []string{"U10", "", "U9", "u9", ""} {
		k := minimal(cabinets, n+1).(*cabinet)
		if s != "" {
			k.Slot = &s
		}
		f.apply(create(k))
	}
	f.walk(cabinets, slot, 2, "U9")
	f.filters(cabinets, 0, records.Filter{Field: slot, Op: records.IsNull, Value: true})
	f.filters(cabinets, 0, records.Filter{Field: slot, Op: records.IsNull, Value: false})
}

// addressed creates devices with different addresses, and second ones, and returns the fields.
func (f *fixture) addressed(r *records.Resource, other func(n int, ip string) any) (ip, second *records.Field) {
	ip, _ = r.Field("ip")
	second, _ = r.Field("second_ip")
	for n, s := range append(addresses(), "", "") {
		d := alone(r, n+1).(*inventory.Device)
		d.IP = s
		second.Set(d, other(n, s))
		f.apply(create(checked(d)))
	}
	return ip, second
}

func checkAddressOrder(f *fixture) {
	r := records.Of[inventory.Device](schema)
	ip, second := f.addressed(r, func(n int, s string) any {
		if s == "" {
			return nil
		}
		return s + []string{"/24", "/32", ""}[n%3]
	})
	f.walk(r, ip, 2, "10.0.0.5", "::5", "no address")
	f.walk(r, second, 2, "10.0.0.5/7", "10.0.0.2")
}

func checkWithin(f *fixture) {
	r := records.Of[inventory.Device](schema)
	ip, second := f.addressed(r, func(n int, _ string) any { return []any{nil, "10.0.0.2/8", "10.0.0.2", "2001:db8:1::1/127"}[n%4] })
	hostname, _ := r.Field("hostname")
	for _, text := range []string{
		"10.0.0.0/8", "10.0.0.0/24", "10.0.0.2/32", "10.0.0.2/31", "0.0.0.0/0", "::/0", "2001:db8::/32", "2001:db8::/126", "255.255.255.255/32",
		"ffff::/16", "::ffff:10.0.0.0/104",
	} {
		for _, filter := range []records.Filter{
			{Field: ip, Op: records.Within, Value: netip.MustParsePrefix(text)},
			{Field: second, Op: records.Within, Value: netip.MustParsePrefix(text)},
			{Field: ip, Op: records.AnyWithin, Value: netip.MustParsePrefix(text)},
		} {
			f.filters(r, 3, filter)
			for _, by := range []*records.Field{ip, second, hostname} {
				f.agrees(&records.Query{Resource: r, Limit: 4, Filters: []records.Filter{filter}, Sort: []records.SortKey{{Field: by, Desc: true}}})
			}
		}
	}
}

func checkPlaces(f *fixture) {
	r := records.Of[inventory.Event](schema)
	severity, _ := r.Field("severity")
	device, _ := r.Field("device_id")
	q := &records.Query{Resource: r, Count: true, Sort: []records.SortKey{{Field: severity, Desc: true}, {Field: device}}}
	deleted := q.Select(f.model.of(r)).Records[many/2]
	f.apply(remove(deleted))
	place := q.PlaceOf(deleted)
	for _, q.After = range []*records.Place{
		place,
		{Values: place.Values, ID: id(r, 0)}, // never existed
		{Values: []any{place.Values[0], nil}, ID: id(r, 0)},
		{Values: []any{"zzz", nil}, ID: id(r, 0)},
		{Values: []any{nil, nil}, ID: id(r, 99)},
	} {
		f.agrees(q)
	}
	f.apply(create(deleted))
}

func checkOrderOfIDs(f *fixture) {
	r := records.Of[inventory.Location](schema)
	for _, n := range []int{0x10, 0x9, 0xa, 0xff, 0x1, 0x100, 0xf} {
		rec := minimal(r, n)
		rec.Meta().CreatedAt, rec.Meta().UpdatedAt = moment(0), moment(0)
		f.apply(create(rec))
	}
	created, _ := r.Field("created_at")
	byID, _ := r.Field("id")
	for _, desc := range []bool{false, true} {
		f.agrees(&records.Query{Resource: r, Sort: []records.SortKey{{Field: created, Desc: desc}}})
		f.agrees(&records.Query{Resource: r, Sort: []records.SortKey{{Field: byID, Desc: desc}, {Field: byID}}})
	}
	q := &records.Query{Resource: r, Sort: slices.Repeat([]records.SortKey{{Field: created}, {Field: byID, Desc: true}}, 8), Limit: 3}
	q.After = q.PlaceOf(f.model.records[id(r, 0x10)])
	f.agrees(q)
}
