package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Record is a record as the API sends it. Numbers are json.Number.
type Record map[string]any

// Text returns a field as text, empty for null.
func (r Record) Text(name string) string { return text(r[name]) }

// ID returns the id.
func (r Record) ID() string { return r.Text("id") }

func text(v any) string {
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
			parts[i] = text(e)
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		encoded, _ := json.Marshal(v) // decoded JSON can be encoded
		return string(encoded)
	}
	return fmt.Sprint(v)
}

// Time returns a field that is a time, or the zero time.
func (r Record) Time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, r.Text(name)) // the zero time for null
	return t
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
	return p, q.Get("/"+resource, query, p)
}

// One reads a record, and its ETag.
func (q *Request) One(resource, id string) (Record, string, error) {
	rec := Record{}
	h, err := q.Do(&Call{Path: "/" + resource + "/" + url.PathEscape(id)}, &rec)
	return rec, ETag(h), err
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

// maxIDs is the number of ids that a filter may have.
const maxIDs = 100

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
func labelFields(r *records.Resource, owner *records.Field) string {
	names := []string{"id"}
	for _, f := range []*records.Field{LabelField(r), owner} {
		if f != nil {
			names = append(names, f.Name)
		}
	}
	if f, ok := r.Field("vlan_id"); ok && f.Ref == nil {
		names = append(names, f.Name)
	}
	return strings.Join(names, ",")
}

// Labels returns what people call records, by their ids: parts of others with the name of their [Owner] in
// front. Records that the sender may not see are missing.
func (q *Request) Labels(resource string, ids []string) (map[string]string, error) {
	return q.labels(resource, ids, true)
}

// labels is Labels, with or without the names of owners.
func (q *Request) labels(resource string, ids []string, withOwners bool) (map[string]string, error) {
	r, ok := q.Schema.Named(resource)
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	labels := make(map[string]string, len(ids))
	if !ok || !q.May(resource, records.RouteList) {
		return labels, nil
	}
	owner, owners := (*records.Field)(nil), map[string]string{}
	if withOwners {
		owner = Owner(r)
	}
	for part := range slices.Chunk(ids, maxIDs) {
		page, err := q.List(resource, url.Values{
			"id__in": {strings.Join(part, ",")}, "limit": {strconv.Itoa(maxIDs)}, "count": {"none"}, "fields": {labelFields(r, owner)},
		})
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Data {
			labels[rec.ID()] = Label(r, rec)
			if owner != nil {
				owners[rec.ID()] = rec.Text(owner.Name)
			}
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

// RefLabels returns what people call the records that fields of records refer to, by their ids.
func (q *Request) RefLabels(fields []*records.Field, recs []Record) (map[string]string, error) {
	ids := map[string][]string{}
	for _, f := range fields {
		if f.Ref == nil {
			continue
		}
		for _, rec := range recs {
			if id := rec.Text(f.Name); id != "" {
				ids[f.Ref.To] = append(ids[f.Ref.To], id)
			}
		}
	}
	all := map[string]string{}
	for resource, wanted := range ids {
		labels, err := q.Labels(resource, wanted)
		if err != nil {
			return nil, err
		}
		for id, label := range labels {
			all[id] = label
		}
	}
	return all, nil
}
