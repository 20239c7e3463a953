package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Record is a record as the API sends it. Numbers are json.Number.
type Record map[string]any

// between separates the elements of a list in a text.
const between = ", "

// Text returns a field as text, empty for null.
func (r Record) Text(name string) string { return Text(r[name]) }

// ID returns the id.
func (r Record) ID() string { return r.Text("id") }

// IDs returns the ids of records.
func IDs(recs []Record) []string {
	ids := make([]string, len(recs))
	for i, rec := range recs {
		ids[i] = rec.ID()
	}
	return ids
}

// Text returns a value of a record as text, empty for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = Text(e)
		}
		return strings.Join(parts, between)
	case map[string]any:
		encoded, _ := json.Marshal(v) // decoded JSON can be encoded
		return string(encoded)
	}
	return fmt.Sprint(v)
}

// Page is a page of a list of the API.
type Page struct {
	Meta struct {
		Total      int64  `json:"total_count"`
		NextCursor string `json:"next_cursor"`
		Count      string `json:"count"` // exact or estimated
	} `json:"meta"`
	Data []Record `json:"data"`
}

// List reads a page of a list.
func (q *Request) List(resource string, query url.Values) (*Page, error) {
	p := &Page{}
	_, err := q.Do(&Call{Path: "/" + resource, Query: query}, p)
	return p, err
}

// Some reads the first records of a list, up to so many, and whether there are more. It does not count them.
func (q *Request) Some(resource string, most int, query url.Values) (*Page, error) {
	query = maps.Clone(query)
	query.Set("limit", strconv.Itoa(most))
	query.Set("count", "none")
	if !query.Has("cursor") {
		query.Set("cursor", "")
	}
	return q.List(resource, query)
}

// All reads a list of up to so many records, page by page.
func (q *Request) All(resource string, query url.Values, most int) (all []Record, err error) {
	query = maps.Clone(query)
	for cursor, more := "", true; more && len(all) < most; {
		query.Set("cursor", cursor)
		page, err := q.Some(resource, records.MaxLimit, query)
		if err != nil {
			return nil, err
		}
		all, cursor = append(all, page.Data...), page.Meta.NextCursor
		more = cursor != ""
	}
	return all, nil
}

// ByIDs reads the records with some ids that the sender may see, with some fields, or all of them if none are
// named. Invalid ids are left out.
func (q *Request) ByIDs(resource string, ids []string, fields ...string) (all []Record, err error) {
	if !q.May(resource, records.RouteList) {
		return nil, nil
	}
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return !records.ValidID(id) })
	for part := range slices.Chunk(ids, records.MaxLimit) {
		query := url.Values{"id__in": {strings.Join(part, ",")}}
		if len(fields) > 0 {
			query.Set("fields", strings.Join(fields, ","))
		}
		page, err := q.Some(resource, records.MaxLimit, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
	}
	return all, nil
}

// One reads a record, and its version for If-Match, as the API sent it.
func (q *Request) One(resource, id string) (Record, string, error) {
	rec := Record{}
	h, err := q.Do(&Call{Path: "/" + resource + "/" + url.PathEscape(id)}, &rec)
	return rec, strings.TrimPrefix(h.Get("ETag"), "W/"), err
}

// OfKind returns the resource whose records have a name in audit logs and in changes, nil if there is none.
func (q *Request) OfKind(kind string) *records.Resource { return q.Schema.OfKind(kind) }

// summary counts the records of a resource by the values of some fields.
type summary struct {
	Total int64
	By    map[string]map[string]int64
	Other map[string]int64
	// AtLeast has the fields of which there are more records than were counted.
	AtLeast []string `json:"at_least"`
}

// Summary reads the summary of a resource.
func (q *Request) Summary(resource string, by ...string) (*summary, error) {
	s := &summary{}
	return s, q.Get("/summary", url.Values{"resource": {resource}, "by": {strings.Join(by, ",")}}, s)
}

// SummaryWhere reads the summary of the records that match the parameters of a list: for each field without its own filters.
func (q *Request) SummaryWhere(resource string, where url.Values, by ...string) (*summary, error) {
	s := &summary{}
	return s, q.Get("/summary", url.Values{"resource": {resource}, "by": {strings.Join(by, ",")}, "where": {where.Encode()}}, s)
}

// Frequent returns the values of counts, those with the highest count first.
func Frequent(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// Preview is the response of the API to a dry run.
type Preview struct {
	Message          string
	Updated, Deleted int64 // records, those that go along included
	Changes          []Change
	Truncated        bool
}

// Change is a change of a record.
type Change struct {
	Action  string
	Kind    string `json:"resource_type"`
	ID      string `json:"resource_id"`
	Changes map[string]Delta
}

// Delta is the value of a field before and after a change.
type Delta struct{ Before, After any }

// Diff is the change of a field, for the template "diff".
type Diff struct{ Field, Before, After string }

// Diffs returns changed fields in the order of the resource, then those that it does not have. show writes a value for
// people. r may be nil.
func Diffs(r *records.Resource, changes map[string]Delta, show func(f *records.Field, value any) string) (all []Diff) {
	rest := maps.Clone(changes)
	if r != nil {
		for _, f := range r.Fields() {
			if d, ok := changes[f.Name]; ok && f.Name != "" {
				all = append(all, Diff{Field: FieldLabel(f), Before: show(f, d.Before), After: show(f, d.After)})
				delete(rest, f.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		f := &records.Field{Name: name}
		all = append(all, Diff{Field: name, Before: show(f, rest[name].Before), After: show(f, rest[name].After)})
	}
	return all
}

// DryRun sends a call that changes nothing.
func (q *Request) DryRun(c *Call) (*Preview, error) {
	dry, p := *c, &Preview{}
	dry.Query = maps.Clone(c.Query)
	if dry.Query == nil {
		dry.Query = url.Values{}
	}
	dry.Query.Set("dry_run", "true")
	_, err := q.Do(&dry, p)
	return p, err
}

// RefIDs adds the ids of the records that changes of a resource refer to, by resource.
func (q *Request) RefIDs(ids map[string][]string, r *records.Resource, changes map[string]Delta) {
	for name, d := range changes {
		if f, ok := r.Field(name); ok && q.Refers(f) != "" {
			ids[q.Refers(f)] = append(ids[q.Refers(f)], strings.Split(Text(d.Before)+between+Text(d.After), between)...)
		}
	}
}

// Named is [Text] of a value, with labels in place of the ids of a list.
func Named(value any, labels map[string]string) string {
	if list, ok := value.([]any); ok {
		named := make([]any, len(list))
		for i, e := range list {
			named[i] = cmp.Or(labels[Text(e)], Text(e))
		}
		value = named
	}
	return Text(value)
}

// LabelField returns the field by which people know records of a resource: the last text of its natural
// key, such as hostname, or nil if its records have no name.
func LabelField(r *records.Resource) *records.Field {
	for _, name := range []string{"hostname", "name", "label"} {
		if f, ok := r.Field(name); ok && f.Kind == records.Text && f.Ref == nil {
			return f
		}
	}
	for _, key := range r.Keys {
		for _, name := range slices.Backward(key) {
			if f, ok := r.Field(name); ok && f.Ref == nil && f.Kind != records.List {
				return f
			}
		}
	}
	if f, ok := r.Field("message"); ok {
		return f
	}
	return nil
}

// NumberField returns the number by which people know records of a resource, such as VLANs, or nil.
func NumberField(r *records.Resource) *records.Field {
	for _, f := range r.ShortKeys() {
		if f.Kind == records.Int && r.Indexed(f) {
			return f
		}
	}
	return nil
}

// Label returns what people call a record.
func Label(r *records.Resource, rec Record) string {
	label := ""
	if f := LabelField(r); f != nil {
		label = rec.Text(f.Name)
	}
	if f, ok := r.Field("vlan_id"); ok && f.Ref == nil {
		label = strings.TrimSpace(rec.Text("vlan_id") + " " + label)
	}
	if label == "" {
		label = r.Label + " " + short(rec.ID())
	}
	return label
}

// short returns the last part of an id, which is the random one.
func short(id string) string {
	if len(id) > 8 {
		return "…" + id[len(id)-8:]
	}
	return id
}

// Owner returns the reference to the record that one of a resource is a part of, such as the device of an
// interface, or nil. Names of parts are only unique together with it.
func Owner(r *records.Resource) *records.Field {
	for _, key := range r.Keys {
		for _, name := range key {
			if f, ok := r.Field(name); ok && f.Ref != nil && f.Ref.Cascade && len(key) > 1 && LabelField(r) != nil {
				return f
			}
		}
	}
	return nil
}

// labelFields returns the names of the fields that Label and Owner need.
func labelFields(r *records.Resource, owner *records.Field) []string {
	names := []string{"id"}
	for _, f := range []*records.Field{LabelField(r), owner} {
		if f != nil {
			names = append(names, f.Name)
		}
	}
	if f, ok := r.Field("vlan_id"); ok && f.Ref == nil {
		names = append(names, f.Name)
	}
	return names
}

// Labels returns what people call records, by their ids: parts of others with the name of their [Owner] in
// front. Records that the sender may not see are missing.
func (q *Request) Labels(resource string, ids []string) (map[string]string, error) {
	return q.labels(resource, ids, true)
}

// labels is Labels, with or without the names of owners.
func (q *Request) labels(resource string, ids []string, withOwners bool) (map[string]string, error) {
	labels, owners := map[string]string{}, map[string]string{}
	r, ok := q.Schema.Named(resource)
	if !ok {
		return labels, nil
	}
	var owner *records.Field
	if withOwners {
		owner = Owner(r)
	}
	recs, err := q.ByIDs(resource, ids, labelFields(r, owner)...)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		labels[rec.ID()] = Label(r, rec)
		if owner != nil {
			owners[rec.ID()] = rec.Text(owner.Name)
		}
	}
	if len(owners) == 0 {
		return labels, nil
	}
	names, err := q.labels(owner.Ref.To, slices.Collect(maps.Values(owners)), false)
	for id, of := range owners {
		labels[id] = strings.TrimSpace(names[of] + " " + labels[id])
	}
	return labels, err
}

// LabelsOf is Labels for the records of several resources.
func (q *Request) LabelsOf(ids map[string][]string) (map[string]string, error) {
	all := map[string]string{}
	for resource, wanted := range ids {
		labels, err := q.Labels(resource, wanted)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, labels)
	}
	return all, nil
}

// Refers returns the resource whose records a field refers to, one or, as location_ids does, a list; empty for none.
func (q *Request) Refers(f *records.Field) string {
	if f.Ref != nil {
		return f.Ref.To
	}
	if of, ok := strings.CutSuffix(f.Name, "_ids"); ok && f.Format == "uuid" {
		if to, known := q.Schema.Named(of + "s"); known {
			return to.Name
		}
	}
	return ""
}

// RefLabels returns what people call the records that fields of records refer to, by their ids.
func (q *Request) RefLabels(fields []*records.Field, recs []Record) (map[string]string, error) {
	ids := map[string][]string{}
	for _, f := range fields {
		to := q.Refers(f)
		for _, rec := range recs {
			if list, ok := rec[f.Name].([]any); ok && to != "" {
				for _, id := range list {
					ids[to] = append(ids[to], Text(id))
				}
			} else if to != "" {
				ids[to] = append(ids[to], rec.Text(f.Name))
			}
		}
	}
	return q.LabelsOf(ids)
}

// maxAbove is the number of locations that one may be within, as the API allows.
const maxAbove = 16

// Around returns the ids of a location and of those that it is within, the nearest first.
func (q *Request) Around(id string) (ids []string, err error) {
	places := q.Places()
	if !q.MaySee(places) {
		return nil, nil
	}
	for id != "" && len(ids) < maxAbove {
		ids = append(ids, id)
		place, _, err := q.One(places, id)
		if _, refused := AsFault(err); refused { // the sender may not see it
			break
		}
		if err != nil {
			return nil, err
		}
		id = place.Text("parent_id")
	}
	return ids, nil
}
