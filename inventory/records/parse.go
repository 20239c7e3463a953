package records

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/listquery"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// The pages of a list (REFERENCE.md, 2.3).
const (
	DefaultLimit = listquery.DefaultLimit
	MaxLimit     = listquery.MaxLimit // higher limits are reduced to it
)

// The bounds of a query.
const (
	maxValue   = 500 // bytes of the value of a filter
	maxIn      = 100 // values of one __in
	maxFilters = 50
	maxWrong   = 20 // problems in an error, here and in patches
)

// MaxSortKeys is the maximum number of fields to sort a list by. No index has the order of
// several fields, so each more makes the database read and sort more.
const MaxSortKeys = 3

// ParseQuery parses the parameters of a list:
//
//	page, limit      whole numbers from 1; the defaults are 1 and DefaultLimit
//	sortby           <field>:asc or <field>:desc; up to MaxSortKeys, in order of precedence
//	<field>          equal to the value; that of a list may be repeated, and all must be contained;
//	                 an address of an interface may have a prefix length that the value omits
//	<field>__<op>    ne, contains, startswith, in (comma-separated values, those with commas in
//	                 double quotes), gt, gte, lt, lte, isnull (true or false), as far as the
//	                 field supports them; a time after gt, gte, lt or lte may be relative to now: -30d, with
//	                 the units m, h, d and w, today, or yesterday
//	<field>__within  an address in this network, such as 192.0.2.0/24, with any prefix length
//	<field>__covers  a network that contains this address or network
//	within           one of the addresses of the record is in this network
//	q                contained in one of the searched fields
//	fields           the names of the fields to return, separated by commas
//	count            exact or true (the default); estimated: the total, or MaxEstimate if more
//	                 would have to be counted; none or false: without the total
//	cursor           empty to start, or a position from [Query.Cursor]
//
// Other parameters are refused unless other names them, because an ignored filter may have
// been essential. The error is an [*Error] of kind [Invalid] with up to 20 problems.
func ParseQuery(r *Resource, values url.Values, other ...string) (*Query, error) {
	p := &parser{values: values, q: &Query{Resource: r, Count: true, Page: 1}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(other, name) {
			continue
		}
		f := r.byName[name] // the filter of a list may be repeated
		if len(values[name]) > 1 && name != "sortby" && (f == nil || f.Kind != List) {
			return nil, &Error{
				Kind: Invalid, Message: "Duplicate query parameter forbidden: " + shorten(name),
				Fields: []FieldError{InField(shorten(name), Repeated())},
			}
		}
		p.parse(name)
	}
	if !values.Has("sortby") {
		p.parseSort(r.Order)
	}
	p.parsePage()
	if len(p.wrong) > 0 {
		return nil, InvalidFields("query", p.wrong)
	}
	return p.q, nil
}

// shorten makes a string from a client fit for a message.
func shorten(s string) string { return printable.Truncate(s, 64) }

// parser parses one query.
type parser struct {
	values url.Values
	q      *Query
	wrong  []FieldError
}

// refuse adds a problem with a parameter.
func (p *parser) refuse(name string, err error) {
	if len(p.wrong) < maxWrong {
		p.wrong = append(p.wrong, InField(shorten(name), err))
	}
}

// parse parses one parameter.
func (p *parser) parse(name string) {
	var err error
	value := p.values.Get(name)
	switch name {
	case "page", "limit", "cursor": // see parsePage
	case "sortby":
		p.parseSort(p.values[name])
	case "q":
		p.q.Text, err = value, checkSearch(value)
	case "fields":
		p.q.Fields, err = p.q.Resource.ParseFields(value)
	case "count":
		p.q.Count, p.q.Estimate, err = parseCount(value)
	default:
		p.parseFilter(name)
	}
	if err != nil {
		p.refuse(name, err)
	}
}

// parsePage parses which part of the list is requested.
func (p *parser) parsePage() {
	limit := min(p.positive("limit", cmp.Or(p.q.Resource.Limit, DefaultLimit)), MaxLimit)
	page := p.positive("page", 1)
	p.q.Page, p.q.Limit, p.q.Offset = int(page), limit, (page-1)*limit
	if !p.values.Has("cursor") {
		return
	}
	if p.values.Has("page") {
		p.refuse("cursor", NotAllowed("beside page"))
	}
	p.q.Page, p.q.Offset = 0, 0
	if len(p.wrong) == 0 { // a cursor can only be checked against a valid order
		if err := p.q.continueAt(p.values.Get("cursor")); err != nil {
			p.refuse("cursor", err)
		}
	}
}

func (p *parser) positive(name string, byDefault int64) int64 {
	n, err := listquery.Positive(p.values[name], byDefault)
	if err != nil {
		p.refuse(name, Wrong("out_of_range", "%v", err))
	}
	return n
}

func (p *parser) parseSort(values []string) {
	keys, err := listquery.Sort(values, names(p.q.Resource.fields, (*Field).Sortable))
	switch {
	case len(values) > MaxSortKeys:
		p.refuse("sortby", TooMany(MaxSortKeys, "fields"))
		return
	case err != nil:
		p.refuse("sortby", Wrong("not_one_of", "%v", err))
	}
	for _, key := range keys {
		p.q.Sort = append(p.q.Sort, SortKey{p.q.Resource.byName[key.Field], key.Desc})
	}
}

// names returns the names of fields, for a nil function of all.
func names(fields []*Field, include func(*Field) bool) (names []string) {
	for _, f := range fields {
		if include == nil || include(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Hint returns what to write instead of an unknown name: the known ones, after the one that was probably
// meant.
func Hint(name string, known []string) string {
	return hint(suggest.Among(name, known), known)
}

// hint is Hint for what was probably meant, "" for none.
func hint(meant string, known []string) string {
	use := "use " + strings.Join(known, ", ")
	if meant == "" {
		return use
	}
	return "did you mean " + meant + "? " + use
}

// ParseFields parses the parameter fields: the names of the fields to return, separated by
// commas.
func (r *Resource) ParseFields(value string) (fields []*Field, err error) {
	if len(value) > 16*maxValue {
		return nil, TooLong(16*maxValue, "bytes")
	}
	for name := range strings.SplitSeq(value, ",") {
		f, ok := r.byName[name]
		switch {
		case !ok || !f.shown():
			return nil, fmt.Errorf("has the field %q, which %w", shorten(name), Unknown("field", Hint(name, names(r.fields, (*Field).shown))))
		case !slices.Contains(fields, f):
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func (p *parser) parseFilter(name string) {
	addresses := p.q.Resource.Addresses()
	field, suffix, hasSuffix := strings.Cut(name, "__")
	f, ok := p.q.Resource.byName[field]
	switch {
	case name == "within" && len(addresses) > 0:
		p.addFilter(name, addresses[0], AnyWithin)
		return
	case !ok || len(f.ops()) == 0:
		p.refuse(name, Unknown("query parameter", p.hint(field, suffix)))
		return
	}
	i := slices.IndexFunc(f.ops(), func(op Op) bool { return op.suffix() == suffix && (suffix != "") == hasSuffix })
	if i < 0 {
		var known []string
		for _, op := range f.ops() {
			known = append(known, parameter(f, op))
		}
		p.refuse(name, Unknown("filter", hint(f.similar(suffix), known)))
		return
	}
	p.addFilter(name, f, f.ops()[i])
}

// hint returns what to write instead of a parameter with an unknown field.
func (p *parser) hint(field, suffix string) string {
	known := []string{"page", "limit", "sortby", "q", "fields", "count", "cursor"}
	if len(p.q.Resource.Addresses()) > 0 {
		known = append(known, "within")
	}
	known = append(known, names(p.q.Resource.fields, func(f *Field) bool { return len(f.ops()) > 0 })...)
	meant := cmp.Or(synonyms[field], suggest.Among(field, known))
	if f, ok := p.q.Resource.byName[meant]; ok && suffix != "" {
		meant = cmp.Or(f.similar(suffix), meant)
	}
	return hint(meant, known)
}

// synonyms are the parameters that have other names in other APIs.
var synonyms = map[string]string{
	"sort": "sortby", "sort_by": "sortby", "order": "sortby", "order_by": "sortby", "orderby": "sortby", "ordering": "sortby",
	"search": "q", "query": "q", "per_page": "limit", "page_size": "limit", "pagesize": "limit", "size": "limit",
	"offset": "cursor", "after": "cursor", "starting_after": "cursor",
}

// otherOps are the names of operators in other query languages.
var otherOps = map[string]string{
	"like": "contains", "ilike": "contains", "icontains": "contains", "match": "contains", "matches": "contains", "search": "contains",
	"regex": "contains", "prefix": "startswith", "istartswith": "startswith", "exact": "eq", "iexact": "eq", "equals": "eq", "is": "eq",
	"not": "ne", "neq": "ne", "after": "gte", "since": "gte", "before": "lte", "until": "lte", "null": "isnull", "empty": "isnull",
}

// similar returns the filter of the field that was probably meant by an unknown suffix, or "".
func (f *Field) similar(suffix string) string {
	known := map[string]string{} // by suffix
	for _, op := range f.ops() {
		known[op.String()] = parameter(f, op)
	}
	return known[suggest.Among(cmp.Or(otherOps[suffix], suffix), slices.Sorted(maps.Keys(known)))]
}

// addFilter adds the filters of a parameter.
func (p *parser) addFilter(name string, f *Field, op Op) {
	for _, value := range p.values[name] {
		if len(p.q.Filters) == maxFilters {
			p.refuse(name, TooMany(maxFilters, "filters"))
			return
		}
		v, err := f.parseOperand(op, value)
		if err != nil {
			p.refuse(name, err)
			continue
		}
		filter := Filter{f, op, v}
		if text, ok := v.(string); ok && f.Format == "interface-ip" && filter.Op == Eq && !strings.Contains(text, "/") {
			filter.Op = Host
		}
		if op == Covers {
			filter.Op = In
		}
		p.q.Filters = append(p.q.Filters, filter)
	}
}

// parseOperand parses the value of a filter.
func (f *Field) parseOperand(op Op, s string) (any, error) {
	switch op {
	case IsNull:
		return parseBool(s)
	case Within, AnyWithin:
		return parseNetwork(s)
	case Covers:
		p, err := parseNetwork(s)
		var all []any
		for bits := 0; bits <= p.Bits(); bits++ {
			all = append(all, netip.PrefixFrom(p.Addr(), bits).Masked().String())
		}
		return all, err
	case Gt, Gte, Lt, Lte:
		if t, ok := relativeTime(s, time.Now()); ok && f.Kind == Time {
			return t, nil
		} else if ok && f.Format == "date" {
			return t.Format(time.DateOnly), nil
		}
		v, err := f.parseValue(s)
		if err != nil && f.Kind == Time {
			err = WrongType("a timestamp such as 2026-01-31T12:00:00Z, or a time before now: -30d (m, h, d, w), today, yesterday")
		}
		return v, err
	case Contains, StartsWith:
		return s, checkSearch(s)
	case In:
		var values []any
		parts := strings.Split(s, ",")
		if strings.Contains(s, `"`) && !strings.ContainsFunc(s, unicode.IsControl) {
			r := csv.NewReader(strings.NewReader(s))
			r.LazyQuotes = true // within a value they are what they are
			if quoted, err := r.Read(); err == nil {
				parts = quoted
			}
		}
		if len(parts) > maxIn {
			return nil, TooMany(maxIn, "values")
		}
		for _, part := range parts {
			v, err := f.parseValue(part)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	return f.parseValue(s)
}

// relativeUnits are the units of a time before now.
var relativeUnits = map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// maxRelative bounds a time before now: a century.
const maxRelative = 100 * 365 * 24 * time.Hour

// relativeTime returns the time in UTC that a value relative to now means: -30d is 30 days ago, to the minute, so that
// the pages of a list fit each other; today and yesterday begin at midnight.
func relativeTime(s string, now time.Time) (t time.Time, ok bool) {
	now = now.UTC().Truncate(time.Minute)
	switch s {
	case "today":
		return now.Truncate(24 * time.Hour), true
	case "yesterday":
		return now.Truncate(24*time.Hour).AddDate(0, 0, -1), true
	case "":
		return t, false
	}
	number, negative := strings.CutPrefix(s[:len(s)-1], "-")
	unit := relativeUnits[s[len(s)-1]]
	n, err := strconv.ParseUint(number, 10, 32)
	if !negative || err != nil || unit == 0 || time.Duration(n) > maxRelative/unit { // #nosec G115 -- 32 bits
		return t, false
	}
	return now.Add(-time.Duration(n) * unit), true // #nosec G115 -- 32 bits
}

// parseValue parses one value of the field.
func (f *Field) parseValue(s string) (any, error) {
	switch f.Kind {
	case Int:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, WrongKind(Int)
		}
		return n, nil
	case Float:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || n-n != 0 { // infinite, or not a number
			return nil, WrongKind(Float)
		}
		return n, nil
	case Bool:
		return parseBool(s)
	case Time:
		t, err := time.Parse(time.RFC3339, s)
		if t = storedTime(t); err != nil || t.Year() < 1 || t.Year() > 9999 {
			return nil, WrongKind(Time)
		}
		return t, nil
	}
	if err := checkSearch(s); err != nil || f.Kind == List {
		return s, err
	}
	return f.canonical(s)
}

func parseCount(s string) (count, estimate bool, err error) {
	switch s {
	case "exact", "true":
		return true, false, nil
	case "estimated":
		return true, true, nil
	case "none", "false":
		return false, false, nil
	}
	return false, false, NotOneOf(s, "exact", "estimated", "none")
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, WrongKind(Bool)
	}
	return s == "true", nil
}

// checkSearch checks a string to compare with. An empty one is refused: forms send it for
// inputs that were not filled in.
func checkSearch(s string) error {
	switch {
	case s == "":
		return Missing("omit it instead")
	case len(s) > maxValue:
		return TooLong(maxValue, "bytes")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return BadFormat("UTF-8 without control characters")
	}
	return nil
}
