package lists

import (
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
	"github.com/ashlar-go/ashlar/inventory/records"
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

// valueCount is a value and how many records have it.
type valueCount struct {
	Value string
	Count int64
}

// summarize counts the records of the resource by the values of a field, the most frequent first. There are
// no counts if the API has too much to do.
func (v *view) summarize(f *records.Field) ([]valueCount, int64, error) {
	s, err := v.Summary(v.resource.Name, f.Name)
	if _, ok := site.AsFault(err); ok {
		return nil, 0, nil
	}
	var counts []valueCount
	for _, value := range site.Frequent(s.By[f.Name]) {
		counts = append(counts, valueCount{value, s.By[f.Name][value]})
	}
	return counts, s.Total, err
}

// presets returns the presets of the first state of the records. Their counts are those of all records, so
// they are shown only if nothing else is filtered, and if they do not take longer than the list.
func (v *view) presets(l *list) ([]preset, error) {
	f := stateOf(v.Request, v.resource, func(f *records.Field) bool { return f.Counted && f.Scalar() })
	if f == nil || l.Problem != nil || !forAll(v.resource) {
		return nil, nil
	}
	var counts []valueCount
	var total int64
	var err error
	if v.placed {
		for _, value := range f.Enum {
			counts = append(counts, valueCount{Value: value})
		}
	} else {
		counts, total, err = v.summarize(f)
	}
	if err != nil || len(counts) < 2 {
		return nil, err
	}
	alone := len(v.without(f.Name, "page", "cursor", "limit", "sortby", "sort")) == 0 && !v.placed
	now := v.query.Get(f.Name)
	all := []preset{{Label: "All", URL: v.with(f.Name), Count: total, Counted: alone, Current: now == "" && !v.query.Has(f.Name+"__in")}}
	for _, c := range counts[:min(len(counts), maxPresets)] {
		if c.Value != "" {
			all = append(all, preset{Label: c.Value, URL: v.with(f.Name, c.Value), Count: c.Count, Counted: alone, Current: c.Value == now})
		}
	}
	return all, nil
}
