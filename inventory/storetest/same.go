package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// same demands that a record is what it should be, in each field.
func same(what string, got, want inventory.Record) {
	r := inventory.ResourceOf(want)
	if inventory.ResourceOf(got) != r {
		fail("%s: there is a %T; want a %T", what, got, want)
	}
	for _, f := range r.Fields() {
		if a, b := f.Value(got), kept(f, want); !alike(a, b) {
			fail("%s: the %s of %s is %s; want %s", what, f.Column, names([]inventory.Record{want}), text(a), text(b))
		}
	}
}

// kept is what should come back of a field.
func kept(f *inventory.Field, rec inventory.Record) any {
	if f.Column == "" {
		return nil
	}
	return f.Value(rec)
}

// alike reports whether a value is what it should be: a time is in UTC, and a list that is
// empty is no null.
func alike(got, want any) bool {
	switch want := want.(type) {
	case time.Time:
		t, ok := got.(time.Time)
		return ok && t.Equal(want) && t.Location() == time.UTC
	case []string:
		list, ok := got.([]string)
		return ok && slices.Equal(list, want) && (list == nil) == (want == nil)
	case string, int64, float64, bool, nil:
		return got == want
	}
	return text(got) == text(want) // objects, whose numbers may have lost their type
}

// samePage demands that a page has what it should have.
func samePage(what string, got, want *inventory.Page) {
	if a, b := ids(got.Records), ids(want.Records); !slices.Equal(a, b) {
		fail("%s: the records are %v; want %v", what, a, b)
	}
	for i, rec := range want.Records {
		same(what, got.Records[i], rec)
	}
	if got.Total != want.Total || got.More != want.More {
		fail("%s: the total is %d, and that there are more is %t; want %d, %t", what, got.Total, got.More, want.Total, want.More)
	}
}

// ids are the ends of ids, by which they are told apart.
func ids(records []inventory.Record) []string {
	all := make([]string, len(records))
	for i, rec := range records {
		all[i] = rec.Meta().ID[19:]
	}
	return all
}

// names are kinds and ids, of a few records.
func names(records []inventory.Record) string {
	const most = 3
	var all []string
	for i, rec := range records {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(records)-most))
			break
		}
		all = append(all, inventory.ResourceOf(rec).Kind()+" "+rec.Meta().ID[19:])
	}
	return strings.Join(all, ", ")
}

// text is a value, cut short if it is long.
func text(v any) string {
	const most = 200
	doc, err := json.Marshal(v)
	must("write a value in JSON", err)
	if s := string(doc); len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", doc[:most], len(doc))
}

// show is a query, for people.
func show(q *inventory.Query) string {
	parts := []string{q.Resource.Name()}
	for _, c := range q.Filters {
		parts = append(parts, fmt.Sprintf("%s %s %s", c.Field.Column, c.Op, text(c.Value)))
	}
	if q.Text != "" {
		parts = append(parts, fmt.Sprintf("q %q", q.Text))
	}
	for _, key := range q.Sort {
		parts = append(parts, fmt.Sprintf("sort %s desc=%t", key.Field.Column, key.Desc))
	}
	if q.After != nil {
		parts = append(parts, fmt.Sprintf("after %s %s", text(q.After.Values), q.After.ID[19:]))
	}
	return strings.Join(append(parts, fmt.Sprintf("offset %d limit %d count %t", q.Offset, q.Limit, q.Count)), "; ")
}
