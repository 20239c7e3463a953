package storetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ashlar-go/ashlar/inventory"
)

func listCases() []Case {
	return []Case{
		{"list/every parameter", "a filter that finds too much or too little shows what nobody asked for", checkParameters, true},
		{"list/filters of programs", "programs may ask for more than parameters can say", checkProgramFilters, true},
		{"list/search", "a search looks into the fields that are made for it, and folds the letters A to Z only", checkSearch, true},
		{"list/random queries", "what can be asked together must be right together", checkRandomQueries, true},
		{"list/odd texts", "a text to look for is a text, and not a pattern or a statement", checkOddTexts, false},
		{"list/zones", "a time is the same wherever somebody writes it down", checkZones, false},
		{"list/large texts", "what fits into a field must be kept and found", checkLargeTexts, false},
		{"list/counts", "a total that is wrong has people look for records that are not there", checkCounts, false},
	}
}

// agrees demands that the store answers a query as Query.Select does.
func (p *probe) agrees(q *inventory.Query, all []inventory.Record) {
	want := q.Select(all)
	samePage(show(q), p.list(q), want)
}

// operand is a value to compare a field with: one that a record has, or another.
func (z *zoo) operand(r *inventory.Resource, f *inventory.Field, op inventory.Op) any {
	switch {
	case op == inventory.IsNull:
		return z.IntN(2) == 0
	case op == inventory.In:
		values := make([]any, 1+z.IntN(5))
		if z.IntN(10) == 0 {
			values = make([]any, 100)
		}
		for i := range values {
			values[i] = z.present(r, f)
		}
		return values
	case op == inventory.Contains || op == inventory.StartsWith:
		return z.part(z.present(r, f).(string), op == inventory.StartsWith)
	case f.Kind == inventory.List:
		return pick(z.Rand, oddElements())
	}
	return z.present(r, f)
}

// present is a value that a record has, mostly.
func (z *zoo) present(r *inventory.Resource, f *inventory.Field) any {
	if z.IntN(4) > 0 {
		if v := f.Value(pick(z.Rand, z.records[r])); v != nil {
			return v
		}
	}
	switch {
	case f.Ref != nil:
		to, _ := inventory.Named(f.Ref.To)
		return id(to, 1+z.IntN(herd))
	case f.Column == "id":
		return id(r, z.IntN(2*herd))
	}
	return z.value(f)
}

// part is some characters of a text, in letters that are large or small as chance has it.
func (z *zoo) part(s string, begin bool) string {
	runes := []rune(s)
	from := 0
	if !begin {
		from = z.IntN(len(runes))
	}
	to := from + 1 + z.IntN(min(4, len(runes)-from))
	return strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && z.IntN(2) == 0 {
			return unicode.ToUpper(c)
		}
		return c
	}, string(runes[from:to]))
}

// filtered is a query for the total and the first few records of one filter.
func (z *zoo) filtered(r *inventory.Resource, f *inventory.Field, op inventory.Op) *inventory.Query {
	const few = 4
	q := &inventory.Query{Resource: r, Count: true, Limit: few}
	q.Filters = []inventory.Filter{{Field: f, Op: op, Value: z.operand(r, f, op)}}
	return q
}

// common reports whether a field is one that all resources have, which is tried with the
// first of them only.
func common(r *inventory.Resource, f *inventory.Field) bool {
	return r != inventory.StoredResources()[0] && slices.Contains([]string{"id", "created_at", "updated_at", "version"}, f.Column)
}

func checkParameters(p *probe) {
	z := p.zoo.again()
	for _, r := range inventory.StoredResources() {
		for _, param := range r.Parameters() {
			if common(r, param.Field) {
				continue
			}
			p.agrees(z.filtered(r, param.Field, param.Op), z.all(r))
		}
	}
}

// programOps are the comparisons that make sense for a field of a kind, besides those that
// have a parameter.
func programOps(f *inventory.Field) []inventory.Op {
	switch {
	case f.Column == "" || f.Kind == inventory.Object:
		return nil
	case f.Kind == inventory.List:
		return []inventory.Op{inventory.Ne}
	case f.Kind == inventory.Text && f.Hidden:
		return []inventory.Op{
			inventory.Eq, inventory.Ne, inventory.In, inventory.Contains, inventory.StartsWith, inventory.Gt, inventory.Lte, inventory.IsNull,
		}
	case f.Kind == inventory.Text:
		return []inventory.Op{inventory.Gt, inventory.Gte, inventory.Lt, inventory.Lte, inventory.IsNull}
	}
	return []inventory.Op{inventory.Eq, inventory.Ne, inventory.In, inventory.Gt, inventory.Gte, inventory.Lt, inventory.Lte, inventory.IsNull}
}

func checkProgramFilters(p *probe) {
	z := p.zoo.again()
	for _, r := range inventory.StoredResources() {
		for _, f := range r.Fields() {
			if common(r, f) {
				continue
			}
			for _, op := range programOps(f) {
				p.agrees(z.filtered(r, f, op), z.all(r))
			}
			if f.Scalar() {
				none := &inventory.Query{Resource: r, Count: true}
				none.Filters = []inventory.Filter{{Field: f, Op: inventory.In, Value: []any{}}}
				p.agrees(none, z.all(r))
			}
		}
		p.agrees(&inventory.Query{Resource: r, Limit: math.MaxInt64, Count: true}, z.all(r))
		p.agrees(&inventory.Query{Resource: r, Offset: math.MaxInt64, Limit: math.MaxInt64, Count: true}, z.all(r))
		p.agrees(&inventory.Query{Resource: r, Offset: 3}, z.all(r))
	}
}

func checkOddTexts(p *probe) {
	r := inventory.Of[inventory.Device]()
	var all []inventory.Record
	odd := append([]string{"two\nlines", "\r\n\t"}, oddTexts()...)
	for n, s := range odd {
		d := full(r, n).(*inventory.Device)
		d.LocationID, d.Model, d.Notes = nil, strings.Join(strings.Fields(s+"."), " "), s+"."
		all = append(all, checked(d))
	}
	p.create(all...)
	for _, s := range append(odd, "\x01", "a\x7fb", "'; DROP TABLE devices; --", "%' OR '1'='1", "\u202e") {
		model, _ := r.Field("model")
		notes, _ := r.Field("notes")
		for _, c := range []inventory.Filter{
			{Field: model, Op: inventory.Contains, Value: s},
			{Field: notes, Op: inventory.StartsWith, Value: s},
		} {
			p.agrees(&inventory.Query{Resource: r, Count: true, Limit: 2, Filters: []inventory.Filter{c}}, cloned(all))
		}
	}
}

// cloned are copies, for Query.Select, which changes the order.
func cloned(all []inventory.Record) []inventory.Record {
	return append([]inventory.Record(nil), all...)
}

func checkSearch(p *probe) {
	z := p.zoo.again()
	for _, r := range inventory.StoredResources() {
		for _, s := range []string{"ALPHA", "K", "i", "Ä", "%", "_", `\`, "'", "\u212a", ":3C:"} {
			p.agrees(&inventory.Query{Resource: r, Text: s, Count: true, Limit: 2}, z.all(r))
		}
	}
}

func checkZones(p *probe) {
	r := inventory.Of[inventory.Device]()
	zone := time.FixedZone("far away", 14*60*60)
	seen := time.Date(2026, 1, 1, 0, 30, 0, 1000, zone)
	d := full(r, 1).(*inventory.Device)
	d.LocationID, d.LastSeen = nil, &seen
	p.create(checked(d))
	p.has(d)
	f, _ := r.Field("last_seen")
	for op, want := range map[inventory.Op]int64{inventory.Eq: 1, inventory.Gte: 1, inventory.Lte: 1, inventory.Gt: 0, inventory.Lt: 0} {
		for _, at := range []time.Time{seen, seen.UTC(), seen.In(time.FixedZone("elsewhere", -90*60))} {
			q := &inventory.Query{Resource: r, Count: true, Filters: []inventory.Filter{{Field: f, Op: op, Value: at}}}
			if page := p.list(q); page.Total != want || int64(len(page.Records)) != want {
				fail("%s: %d records and a total of %d; want %d", show(q), len(page.Records), page.Total, want)
			}
		}
	}
	q := &inventory.Query{Resource: r, Sort: []inventory.SortKey{{Field: f}}}
	for shift, want := range map[time.Duration]int{-time.Microsecond: 1, time.Microsecond: 0} {
		q.After = &inventory.Place{Values: []any{seen.Add(shift)}, ID: id(r, 1)}
		if page := p.list(q); len(page.Records) != want {
			fail("%s: %d records; want %d", show(q), len(page.Records), want)
		}
	}
}

// query is one of any kind.
func (z *zoo) query(r *inventory.Resource) *inventory.Query {
	q := &inventory.Query{Resource: r, Count: z.IntN(2) == 0, Limit: int64(z.IntN(6)), Offset: int64(z.IntN(3))}
	params := r.Parameters()
	for range z.IntN(4) {
		c := pick(z.Rand, params)
		q.Filters = append(q.Filters, inventory.Filter{Field: c.Field, Op: c.Op, Value: z.operand(r, c.Field, c.Op)})
	}
	if z.IntN(4) == 0 {
		q.Text = z.part(pick(z.Rand, oddTexts()), false)
	}
	fields := sortable(r)
	for range z.IntN(4) {
		q.Sort = append(q.Sort, inventory.SortKey{Field: pick(z.Rand, fields), Desc: z.IntN(2) == 0})
	}
	if z.IntN(2) == 0 {
		q.After = q.PlaceOf(pick(z.Rand, z.records[r]))
	}
	return q
}

func checkRandomQueries(p *probe) {
	const each = 15
	z := p.zoo.again()
	for _, r := range inventory.Resources() {
		for range each {
			p.agrees(z.query(r), z.all(r))
		}
	}
}

// checkLargeTexts fills each text as far as it may be, in one record of each resource.
func checkLargeTexts(p *probe) {
	for _, r := range inventory.StoredResources() {
		p.create(generationOf(r)[1:]...)
		rec := full(r, 1)
		for _, f := range r.Fields() {
			if f.Kind == inventory.Text && f.Column != "" && (f.Format == "line" || f.Format == "text") {
				f.Set(rec, largest(f))
			}
		}
		p.create(checked(rec))
		p.has(rec)
		for _, f := range r.Fields() {
			if f.Format == "line" && f.Scalar() {
				q := &inventory.Query{Resource: r, Count: true, Sort: []inventory.SortKey{{Field: f}}}
				q.Filters = []inventory.Filter{{Field: f, Value: f.Value(rec)}}
				samePage(f.Column+" of full length", p.list(q), &inventory.Page{Records: []inventory.Record{rec}, Total: 1})
			}
		}
	}
}

// largest is a text of as many characters as a field may have, each of four bytes, and
// of half a million where it has no bound.
func largest(f *inventory.Field) string {
	size := 500_000
	if f.Max != nil {
		size = int(*f.Max)
	}
	return strings.Repeat("😀", size)
}

// checkCounts counts while records come, change and go, with and without an end.
func checkCounts(p *probe) {
	z := p.settle()
	left := map[*inventory.Resource][]inventory.Record{}
	for _, r := range inventory.StoredResources() {
		left[r] = z.all(r)
	}
	p.counts(z, left)
	for _, r := range inventory.Resources() { // what refers to it goes too, or loses that
		var all []inventory.Record
		for _, other := range inventory.StoredResources() {
			all = append(all, left[other]...)
		}
		for range min(2, len(left[r])-1) {
			o := without(all, left[r][z.IntN(len(left[r])/2+1)]) // most others refer to the first half
			p.remove(o.gone[0])
			for _, rec := range o.left {
				if o.released[rec] {
					p.isReleased(rec)
				}
			}
			left, all = map[*inventory.Resource][]inventory.Record{}, o.left
			for _, rec := range o.left {
				left[inventory.ResourceOf(rec)] = append(left[inventory.ResourceOf(rec)], rec)
			}
		}
		p.undone(z, left)
		p.counts(z, left)
	}
}

// undone makes changes that come to nothing.
func (p *probe) undone(z *zoo, left map[*inventory.Resource][]inventory.Record) {
	for r, all := range left {
		err := p.store.Change(p.ctx, func(tx inventory.Tx) error {
			rec := pick(z.Rand, all)
			if err := tx.Delete(p.ctx, r, rec.Meta().ID, rec.Meta().Version); err != nil {
				return err
			}
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			fail("the error of a transaction is %w; want its own", err)
		}
	}
}

// counts demands the totals of what is left: all, and those of each value of the fields
// that have few.
func (p *probe) counts(z *zoo, left map[*inventory.Resource][]inventory.Record) {
	for _, r := range inventory.StoredResources() {
		p.agrees(&inventory.Query{Resource: r, Count: true, Limit: 1}, cloned(left[r]))
		for _, f := range r.Fields() {
			if !f.Scalar() || len(f.Enum) == 0 && !f.Counted && f.Ref == nil && f.Kind != inventory.Bool {
				continue
			}
			q := &inventory.Query{Resource: r, Count: true, Limit: 1}
			q.Filters = []inventory.Filter{{Field: f, Value: z.present(r, f)}}
			p.agrees(q, cloned(left[r]))
		}
	}
}
