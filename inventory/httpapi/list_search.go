package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// One search over all records (REFERENCE.md, 2.18).

// searchPath is the path of searches.
const searchPath = "/search"

// The bounds of a search.
const (
	defaultFound = 20
	maxFound     = 100                    // results
	maxSearched  = 200                    // bytes of the text
	minPart      = 3                      // characters of a text that is looked for within values
	searchTime   = 500 * time.Millisecond // for what may have to read many records
)

// searchFirst are the resources whose records come first among equally good results. Others follow in
// the order of the schema.
var searchFirst = []string{"devices", "interfaces", "locations", "prefixes", "addresses", "vlans", "racks"}

// match says how a record matches a search. The best comes first.
type match int

const (
	matchExact  match = iota // a value is the text, but for ASCII case
	matchCovers              // a network contains the address or network of the text
	matchWithin              // an address or network is within the network of the text
	matchPrefix              // a value begins with the text
	matchText                // a value contains the text
)

// matches are the names of matches in responses.
var matches = []string{"exact", "covers", "within", "prefix", "text"}

// found is a result of a search.
type found struct {
	resource *records.Resource
	record   records.Record
	field    *records.Field
	match    match
	order    int // of the resource
}

func searchAll() operation {
	names := &openapi.Schema{Type: "string", Description: "How the field matches: the best matches come first."}
	for _, name := range matches {
		names.Enum = append(names.Enum, name)
	}
	limit := openapi.Integer("", 1)
	limit.Maximum, limit.Default = new(float64(maxFound)), defaultFound
	result := openapi.Object("Found",
		openapi.Required("resource", openapi.String("The name of the resource, such as devices.")),
		openapi.Required("id", openapi.ID("")),
		openapi.Required("label", openapi.String("What people call the record: its name, address or key.")),
		openapi.Required("field", openapi.String("The field that matches.")),
		openapi.Required("match", names),
		openapi.Required("record", &openapi.Schema{Type: "object", Description: "The record, as GET of its resource has it."}))
	return operation{openapi.Operation{
		ID: "search", Tag: "system", Summary: "Find records by names, addresses, serial numbers and other texts",
		Parameters: []openapi.Parameter{
			{
				Name: "q", Required: true, Schema: openapi.BoundedString(1, maxSearched),
				Description: "A name, an IP address or network, a MAC address in any notation, a serial number, a tag or a part of a text.",
			},
			{Name: "limit", Schema: limit, Description: "The maximum number of results."},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("SearchResults",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("complete", openapi.Boolean("Whether the search ended before its time did.")),
			openapi.Required("data", openapi.Array(result, 0, maxFound)))}},
		Errors: []int{http.StatusTooManyRequests},
	}, (*call).searchAll}
}

func (c *call) searchAll() (*feature.Response, error) {
	s, err := c.newSearch()
	if err != nil {
		return nil, err
	}
	if c.places == nil {
		err = s.lookUp(c.r.Context())
	}
	if err == nil && (c.places != nil || len(s.found) < s.limit && !s.named()) {
		err = c.api.heavy.run(c.r.Context(), c.heavyCaller(), s.searchTexts)
	}
	if err != nil {
		return nil, err
	}
	return &feature.Response{Append: s.append}, nil
}

// newSearch returns the search of the request, in the resources that the sender may list.
func (c *call) newSearch() (*searching, error) {
	s := &searching{call: c, text: strings.TrimSpace(c.query.Get("q")), limit: defaultFound, seen: map[string]bool{}, complete: true}
	switch {
	case s.text == "":
		return nil, badField("q", records.Missing("use a name, an address, a serial number or a part of a text"))
	case len(s.text) > maxSearched || !utf8.ValidString(s.text) || strings.ContainsFunc(s.text, unicode.IsControl):
		return nil, badField("q", records.BadFormat(fmt.Sprintf("at most %d bytes of UTF-8 without control characters", maxSearched)))
	}
	s.folded = records.FoldASCII(s.text)
	if c.query.Has("limit") {
		n, err := strconv.Atoi(c.query.Get("limit"))
		if err != nil || n < 1 || n > maxFound {
			return nil, badField("limit", records.OutOfRange(1, maxFound, ""))
		}
		s.limit = n
	}
	denied := error(auth.Denied())
	for _, rt := range c.api.routes {
		if rt.does != records.RouteList || rt.path != "/"+rt.resource.Name || !searchable(rt.resource) {
			continue
		}
		r, err := c.listable(&rt)
		switch {
		case err == nil:
			s.resources = append(s.resources, r)
		case auth.KindOf(err) != auth.Forbidden:
			return nil, err
		default:
			denied = err
		}
	}
	if len(s.resources) == 0 {
		return nil, denied
	}
	slices.SortStableFunc(s.resources, func(a, b *records.Resource) int { return cmp.Compare(searchOrder(a), searchOrder(b)) })
	return s, nil
}

// searchable reports whether searches find records of a resource: neither accounts and what else only
// some may read, nor logs and measurements.
func searchable(r *records.Resource) bool {
	return permission(r.Access.Read.Or(records.Permission{Everyone: true})).Everyone && !isUsers(r) && !r.Internal && !r.Unaudited && !r.Prunable
}

// searchOrder returns the position of a resource among equally good results.
func searchOrder(r *records.Resource) int {
	if i := slices.Index(searchFirst, r.Name); i >= 0 {
		return i
	}
	return len(searchFirst)
}

// searching is one search.
type searching struct {
	*call
	text, folded string
	limit        int
	resources    []*records.Resource
	found        []found
	seen         map[string]bool // the ids of found
	complete     bool
	address      bool // the text is a whole IP or MAC address, or a network
}

// add adds a result unless the record is one already.
func (s *searching) add(r *records.Resource, rec records.Record, f *records.Field, m match) {
	if id := rec.Meta().ID; !s.seen[id] {
		s.seen[id] = true
		s.found = append(s.found, found{r, rec, f, m, slices.Index(s.resources, r)})
	}
}

// named reports whether the text is what names one thing: a hostname, or another value of a device but its
// address, or a unique value such as a site code. Then nobody waits for others that contain it.
func (s *searching) named() bool {
	return slices.ContainsFunc(s.found, func(f found) bool {
		return f.match == matchExact && !f.field.Address() && (f.resource.Name == searchFirst[0] || isUnique(f.resource, f.field))
	})
}

// rank sorts the results: the best matches first, then by resource. Of the networks that contain an
// address the smallest comes first.
func (s *searching) rank() {
	slices.SortStableFunc(s.found, func(a, b found) int {
		order := cmp.Or(cmp.Compare(a.match, b.match), cmp.Compare(a.order, b.order))
		if order == 0 && a.match == matchCovers && a.field == b.field {
			return cmp.Compare(prefixLength(b.field.Value(b.record)), prefixLength(a.field.Value(a.record)))
		}
		return order
	})
	s.found = s.found[:min(len(s.found), s.limit)]
}

// prefixLength returns the prefix length of a network.
func prefixLength(network any) int {
	text, _ := network.(string)
	bits, _ := strconv.Atoi(text[strings.LastIndexByte(text, '/')+1:])
	return bits
}

// append appends the response.
func (s *searching) append(b []byte) []byte {
	s.rank()
	b = strconv.AppendBool(append(b, `{"status":"success","complete":`...), s.complete)
	b = append(b, `,"data":[`...)
	for i, f := range s.found {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"resource":"`...), f.resource.Name...)
		b = append(append(b, `","id":"`...), f.record.Meta().ID...)
		b = encode.String(append(b, `","label":`...), label(f.resource, f.record))
		b = append(append(b, `,"field":"`...), f.field.Name...)
		b = append(append(b, `","match":"`...), matches[f.match]...)
		b = s.api.encoders.Of(f.resource).Append(append(b, `","record":`...), f.record)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// label returns what people call a record: its name, else its natural key, else its id.
func label(r *records.Resource, rec records.Record) string {
	for _, f := range r.Fields() {
		if text, ok := f.Value(rec).(string); ok && f.Natural && f.Scalar() {
			return text
		}
	}
	for _, key := range r.Keys {
		var parts []string
		for _, name := range key {
			if f, _ := r.Field(name); f.Ref == nil && f.Value(rec) != nil {
				parts = append(parts, fmt.Sprint(f.Value(rec)))
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, " ")
		}
	}
	return rec.Meta().ID
}

// list returns records of a query. It adds no order: the caller's query has one that an index has.
func (s *searching) list(ctx context.Context, q *records.Query) (*records.Page, error) {
	q.Count, q.Offset = false, 0
	return s.page(ctx, q, s.store.List)
}

// A search first looks up the text as a value: in indexes, from which each query reads a bounded number
// of entries. If there is room for more results, it looks for records that contain the text.

// fewFound is the number of records of an index that are read to see whether there are any results.
const fewFound = 3

// lookUp finds the records with the text, or with the address that it is, as a value, and those with a
// name that begins with it.
func (s *searching) lookUp(ctx context.Context) error {
	for _, r := range s.resources {
		for _, f := range r.Fields() {
			if !s.searched(r, f) {
				continue
			}
			if err := s.lookUpField(ctx, r, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// searched reports whether a search looks up the text in a field: in the id, in names and numbers of
// natural keys, and in the searched fields, if they have an index and not only a few values.
func (s *searching) searched(r *records.Resource, f *records.Field) bool {
	if f.Name == "id" {
		return records.ValidID(s.text)
	}
	key := slices.Contains(r.ShortKeys(), f)
	return f.Scalar() && f.Ref == nil && (f.Search || key) && !f.Counted &&
		(r.Indexed(f) || isUnique(r, f)) && (f.Kind == records.Text || f.Kind == records.Int && key)
}

// isUnique reports whether a field alone is a unique key.
func isUnique(r *records.Resource, f *records.Field) bool {
	return slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return len(u.Fields) == 1 && u.Fields[0] == f.Name && u.Without == "" })
}

func (s *searching) lookUpField(ctx context.Context, r *records.Resource, f *records.Field) error {
	switch {
	case f.Address():
		return s.lookUpAddress(ctx, r, f)
	case f.Kind == records.Text && f.Format != "uuid" && r.Indexed(f) && s.places == nil:
		if f.Format == "mac" {
			if err := s.lookUpValue(ctx, r, f, s.text); err != nil {
				return err
			}
		}
		return s.lookUpPrefix(ctx, r, f)
	}
	for _, text := range s.spellings(f) {
		if err := s.lookUpValue(ctx, r, f, text); err != nil {
			return err
		}
	}
	return nil
}

// spellings returns the text in the cases that a value of the field may have.
func (s *searching) spellings(f *records.Field) []string {
	if f.Kind != records.Text || f.Format != "line" {
		return []string{s.text}
	}
	all := []string{s.text, s.folded, strings.ToUpper(s.text)}
	slices.Sort(all)
	return slices.Compact(all)
}

// lookUpValue finds the records with a value, in any notation that filters accept.
func (s *searching) lookUpValue(ctx context.Context, r *records.Resource, f *records.Field, value string) error {
	return s.filter(ctx, r, f, f.Name, value, matchExact)
}

// filter finds the records that match a filter of a list, and notes that the text is an address. A text that the field can't have matches none.
func (s *searching) filter(ctx context.Context, r *records.Resource, f *records.Field, parameter, value string, m match) error {
	q, err := records.ParseQuery(r, url.Values{parameter: {value}})
	if err != nil {
		return nil // the text is no value of the field
	}
	s.address = s.address || addressField(f)
	q.Sort, q.Limit = nil, int64(s.limit)
	if m == matchWithin {
		q.Sort = []records.SortKey{{Field: f}}
	}
	page, err := s.list(ctx, q)
	if err != nil {
		return err
	}
	for _, rec := range page.Records {
		if found, _ := f.Value(rec).(string); m == matchCovers && found == value {
			s.add(r, rec, f, matchExact)
		} else {
			s.add(r, rec, f, m)
		}
	}
	return nil
}

// lookUpAddress finds the records with an address, with a network that contains it, and with the
// addresses and networks within a network.
func (s *searching) lookUpAddress(ctx context.Context, r *records.Resource, f *records.Field) error {
	network, err := netip.ParsePrefix(s.text)
	if _, notAddress := netip.ParseAddr(s.text); err != nil && notAddress != nil || !r.Indexed(f) {
		return nil // the text is no address
	}
	if err == nil && network == network.Masked() {
		if f.Format == "network" { // the network itself, then those around it
			if err := s.filter(ctx, r, f, f.Name+"__covers", network.String(), matchCovers); err != nil {
				return err
			}
		}
		return s.filter(ctx, r, f, f.Name+"__within", network.String(), matchWithin)
	}
	if f.Format == "network" {
		return s.filter(ctx, r, f, f.Name+"__covers", s.text, matchCovers)
	}
	return s.lookUpValue(ctx, r, f, s.text)
}

// lookUpPrefix finds the records with a value that begins with the text, in the order of the field.
func (s *searching) lookUpPrefix(ctx context.Context, r *records.Resource, f *records.Field) error {
	from := s.text
	if f.Format == "mac" {
		from = s.folded
	}
	limit := int64(fewFound)
	for {
		page, err := s.list(ctx, &records.Query{
			Resource: r, Limit: limit, Sort: []records.SortKey{{Field: f}}, After: &records.Place{Values: []any{from}},
		})
		if err != nil {
			return err
		}
		n := 0
		for _, rec := range page.Records {
			if m := s.compare(f, rec); m <= matchPrefix {
				s.add(r, rec, f, m)
				n++
			}
		}
		if n < len(page.Records) || !page.More || limit >= int64(s.limit) {
			return nil
		}
		limit = int64(s.limit)
	}
}

// addressField reports whether the values of a field are IP addresses, networks or MAC addresses.
func addressField(f *records.Field) bool {
	return f.Address() || f.Format == "cidr" || f.Format == "mac"
}

// noMatch is worse than all matches.
const noMatch = matchText + 1

// compare returns how a field of a record matches the text, or the best of the elements of a list does.
func (s *searching) compare(f *records.Field, rec records.Record) match {
	best := noMatch
	switch value := f.Value(rec).(type) {
	case string:
		best = s.compareText(value)
	case []string:
		for _, element := range value {
			best = min(best, s.compareText(element))
		}
	}
	return best
}

func (s *searching) compareText(value string) match {
	value = records.FoldASCII(value)
	switch {
	case value == s.folded:
		return matchExact
	case strings.HasPrefix(value, s.folded):
		return matchPrefix
	case strings.Contains(value, s.folded):
		return matchText
	}
	return noMatch
}

// searchTexts finds the records that contain the text, as far as time permits. What is found until then are the results.
func (s *searching) searchTexts(ctx context.Context) error {
	slow, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	err := s.searchAllTexts(slow)
	if err != nil && slow.Err() != nil && ctx.Err() == nil {
		s.complete = false
		return nil
	}
	return err
}

func (s *searching) searchAllTexts(ctx context.Context) error {
	if s.places != nil { // whose records an index does not have together
		if err := s.lookUp(ctx); err != nil {
			return err
		}
	}
	if utf8.RuneCountInString(s.text) >= minPart && !s.named() {
		for _, r := range s.resources {
			if s.address && !slices.ContainsFunc(r.Fields(), func(f *records.Field) bool { return addressField(f) && !r.Indexed(f) }) {
				continue // its parts are in too many records
			}
			if err := s.searchText(ctx, r); err != nil || len(s.found) >= s.limit {
				return err
			}
		}
	}
	return nil
}

// searchText finds the records of a resource that contain the text.
func (s *searching) searchText(ctx context.Context, r *records.Resource) error {
	fields := slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return !f.Search || f.Hidden || f.WriteOnly })
	if len(fields) == 0 {
		return nil
	}
	page, err := s.list(ctx, &records.Query{Resource: r, Text: s.text, Limit: int64(s.limit)})
	if err != nil {
		return err
	}
	for _, rec := range page.Records {
		best := slices.MinFunc(fields, func(a, b *records.Field) int { return int(s.compare(a, rec)) - int(s.compare(b, rec)) })
		s.add(r, rec, best, min(s.compare(best, rec), matchText))
	}
	return nil
}
