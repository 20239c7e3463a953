package lists

import (
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// preset is a view that is one click away: all records, or those in one state.
type preset struct {
	Label, URL string
	Count      int64
	Counted    bool
	Current    bool
}

// maxPresets is the number of states that have a preset.
const maxPresets = 5

// summarize counts the records of the resource by the values of a field. There are no counts if the API has too
// much to do.
func (v *view) summarize(f *records.Field) (counts map[string]int64, total int64, err error) {
	s, err := v.Summary(v.resource.Name, f.Name)
	if _, ok := site.AsFault(err); ok {
		return nil, 0, nil
	}
	return s.By[f.Name], s.Total, err
}

// unseen is the preset of records whose time, such as that of the last contact, is long ago.
const unseen = "-30d"

// unseenOf returns the parameter of that preset, of the first indexed time that users set, and its label. It is empty if
// there is none.
func unseenOf(r *records.Resource) (name, label string) {
	for _, f := range r.Fields() {
		if f.Kind == records.Time && f.Index && f.Nullable && !f.ReadOnly && visible(f) && r.Latest == nil {
			return f.Name + "__lt", site.FieldLabel(f) + " over 30 days ago"
		}
	}
	return "", ""
}

// presets returns the presets of the first state of the records, and of a time. Their counts are those of all records, so
// they are shown only if nothing else is filtered, and if they do not take longer than the list.
func (v *view) presets(l *list) ([]preset, error) {
	f := stateOf(v.Request, v.resource, func(f *records.Field) bool { return f.Counted && f.Scalar() })
	if f == nil || l.Problem != nil || !forAll(v.resource) {
		return nil, nil
	}
	var counts map[string]int64
	var total int64
	values := f.Enum
	if !v.placed {
		var err error
		if counts, total, err = v.summarize(f); err != nil {
			return nil, err
		}
		values = site.Frequent(counts)
	}
	if len(values) < 2 {
		return nil, nil
	}
	alone := len(v.without(f.Name, "page", "cursor", "limit", "sortby", "sort")) == 0 && !v.placed
	now := v.query.Get(f.Name)
	old, label := unseenOf(v.resource)
	whole := v.state()
	whole.Del(f.Name)
	whole.Del(old)
	all := []preset{{Label: "All", URL: v.address(whole), Count: total, Counted: alone, Current: now == "" && !v.query.Has(f.Name+"__in") && !v.query.Has(old)}}
	for _, value := range values[:min(len(values), maxPresets)] {
		if value != "" {
			all = append(all, preset{Label: value, URL: v.with(f.Name, value), Count: counts[value], Counted: alone, Current: value == now})
		}
	}
	if old != "" {
		all = append(all, preset{Label: label, URL: v.with(old, unseen), Current: v.query.Get(old) == unseen})
	}
	return all, nil
}
