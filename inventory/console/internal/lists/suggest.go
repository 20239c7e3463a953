package lists

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

const (
	maxSuggestions = 10
	maxRead        = 100 // records in which values are looked for
)

// suggestions returns values for a filter that begin with or contain a text.
func (v *view) suggestions(p records.Parameter, text string) ([]suggestion, error) {
	values, err := v.valuesFor(p, strings.TrimSpace(text))
	if f, ok := site.AsFault(err); ok && f.Status != http.StatusUnauthorized {
		return nil, nil // such as an incomplete address
	}
	if err != nil {
		return nil, err
	}
	values = slices.DeleteFunc(values, func(s suggestion) bool { return s.Value == "" })
	for i := range values {
		values[i].URL = v.adding(p, values[i].Value)
	}
	return values[:min(len(values), max(maxSuggestions, len(p.Field.Enum)))], nil
}

func (v *view) valuesFor(p records.Parameter, text string) ([]suggestion, error) {
	f := p.Field
	switch {
	case p.Op == records.IsNull:
		return []suggestion{{Value: "true", Label: "is empty"}, {Value: "false", Label: "has a value"}}, nil
	case f.Kind == records.Bool:
		return []suggestion{{Value: "true", Label: site.BoolText(f, "true")}, {Value: "false", Label: site.BoolText(f, "false")}}, nil
	case f.Kind == records.Time:
		return times(p), nil
	case p.Op == records.Within, p.Op == records.AnyWithin:
		return v.networks(text)
	case p.Op == records.Covers, p.Op == records.Contains, p.Op == records.StartsWith:
		return nil, nil // a part of a value is typed
	case f.Ref != nil:
		return v.references(f, text)
	case len(f.Enum) > 0 || f.Counted && f.Scalar():
		return v.frequent(f, text)
	}
	return v.existing(f, text)
}

// times returns times that are often meant, relative to now.
func times(p records.Parameter) (all []suggestion) {
	if p.Op == records.Eq || p.Op == records.Ne || p.Op == records.In {
		return nil
	}
	for _, value := range []string{"-1h", "-1d", "-7d", "-30d", "today", "yesterday"} {
		all = append(all, suggestion{Value: value, Label: cmp.Or(ago(value), value)})
	}
	return all
}

// networks returns networks that the inventory has: the labels of the first resource that are some.
func (v *view) networks(text string) (all []suggestion, err error) {
	for _, r := range v.Schema.Resources() {
		f := site.LabelField(r)
		if f == nil || f.Format != "network" || !v.MaySee(r.Name) {
			continue
		}
		query := url.Values{"sortby": {f.Name + ":asc"}}
		if text != "" {
			query.Set(f.Name+"__startswith", text)
		}
		page, err := v.Some(r.Name, maxSuggestions, query)
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Data {
			all = append(all, suggestion{Value: rec.Text(f.Name), Label: rec.Text(f.Name), Count: rec.Text("description")})
		}
		break
	}
	return all, nil
}

// frequent returns the values of a field with few values, those that most records have first.
func (v *view) frequent(f *records.Field, text string) ([]suggestion, error) {
	var counts map[string]int64
	if f.Counted {
		var err error
		if counts, _, err = v.summarize(f); err != nil {
			return nil, err
		}
	}
	others := slices.DeleteFunc(slices.Clone(f.Enum), func(e string) bool { _, counted := counts[e]; return counted })
	var all []suggestion
	for _, value := range slices.Concat(site.Frequent(counts), others) {
		if !strings.Contains(strings.ToLower(value), strings.ToLower(text)) {
			continue
		}
		one := suggestion{Value: value, Label: value}
		if f.Counted {
			one.Count = ui.Count(counts[value])
		}
		all = append(all, one)
	}
	return all, nil
}

// references returns records that a field may refer to: those that most records do, or those whose name
// contains a text.
func (v *view) references(f *records.Field, text string) (all []suggestion, err error) {
	if !v.May(f.Ref.To, records.RouteList) {
		return nil, nil
	}
	if text == "" && f.Counted {
		return v.mostReferred(f)
	}
	to := f.Ref.Resource()
	query := url.Values{"fields": {"id"}}
	if name := site.LabelField(to); name != nil && to.Indexed(name) && name.Sortable() {
		query.Set("sortby", name.Name+":asc")
	}
	if text != "" {
		query.Set("q", text)
	}
	page, err := v.Some(f.Ref.To, maxSuggestions, query)
	if err != nil {
		return nil, err
	}
	ids := site.IDs(page.Data)
	labels, err := v.Labels(f.Ref.To, ids)
	for _, id := range ids {
		all = append(all, suggestion{Value: id, Label: labels[id]})
	}
	return all, err
}

// mostReferred returns the records that most records refer to.
func (v *view) mostReferred(f *records.Field) (all []suggestion, err error) {
	counts, _, err := v.summarize(f)
	if err != nil {
		return nil, err
	}
	ids := site.Frequent(counts)
	ids = ids[:min(len(ids), maxSuggestions+1)]
	labels, err := v.Labels(f.Ref.To, ids)
	for _, id := range ids {
		if labels[id] != "" {
			all = append(all, suggestion{Value: id, Label: labels[id], Count: ui.Count(counts[id])})
		}
	}
	return all, err
}

// existing returns values that some records have.
func (v *view) existing(f *records.Field, text string) (all []suggestion, err error) {
	if f.Kind != records.Text && f.Kind != records.List || f.Format == "text" || f.Format == "uuid" {
		return nil, nil
	}
	query := url.Values{"fields": {f.Name}}
	if f.Kind == records.Text {
		query.Set("sortby", f.Name+":asc")
		if text != "" {
			query.Set(f.Name+"__startswith", text)
		} else if slices.ContainsFunc(v.resource.Parameters(), func(p records.Parameter) bool { return p.Name == f.Name+"__isnull" }) {
			query.Set(f.Name+"__isnull", "false")
		}
	} else if text != "" && f.Search {
		query.Set("q", text)
	}
	page, err := v.Some(v.resource.Name, maxRead, query)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, rec := range page.Data {
		if list, ok := rec[f.Name].([]any); ok {
			for _, e := range list {
				if s, ok := e.(string); ok && strings.Contains(strings.ToLower(s), strings.ToLower(text)) {
					found = append(found, s)
				}
			}
			continue
		}
		found = append(found, rec.Text(f.Name))
	}
	for _, s := range unique(found) {
		all = append(all, suggestion{Value: s, Label: s})
	}
	return all, nil
}
