package httpapi

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

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
