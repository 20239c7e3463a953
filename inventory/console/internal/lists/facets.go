package lists

import (
	"cmp"
	"encoding/csv"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of the panel.
const (
	maxFacets      = 8
	maxFacetValues = 6 // of one facet, beside those that are chosen
)

// panel is the form beside the list, which filters by several values at once.
type panel struct {
	Action, Close string
	State         []pair // the rest of the view
	Facets        []*facet
	Time          string // the parameter that filters by an age, empty for none
	TimeLabel     string
	Ages          []site.Choice
}

// facet is a field with its most frequent values.
type facet struct {
	Field  *records.Field
	Label  string
	Values []facetValue
	More   int // values that are not shown
}

// facetValue is a value, with the number of records that have it.
type facetValue struct {
	site.Choice
	Count string
}

// facetFields returns the fields of the panel: states first, then references and texts that stores count, then lists and
// other references.
func (v *view) facetFields() []*records.Field {
	rank := func(f *records.Field) int {
		switch {
		case f.Ref != nil && !v.MaySee(f.Ref.To):
			return 0
		case f.Counted && f.Kind == records.Text && len(f.Enum) > 0:
			return 1
		case f.Counted && (f.Ref != nil || f.Index):
			return 2
		case f.Kind == records.List && f.Search, f.Ref != nil && !f.Ref.Cascade:
			return 3
		case f.Counted && f.Kind == records.Text:
			return 4
		}
		return 0
	}
	fields := slices.DeleteFunc(slices.Clone(v.resource.Fields()), func(f *records.Field) bool { return !visible(f) || rank(f) == 0 })
	slices.SortStableFunc(fields, func(a, b *records.Field) int { return cmp.Compare(rank(a), rank(b)) })
	return fields[:min(len(fields), maxFacets)]
}

// panel returns the form, without counts if the API has too much to do.
func (v *view) panel() (*panel, error) {
	p := &panel{Action: v.ListURL(v.resource.Name)}
	closed := v.state()
	closed.Del(panelParam)
	p.Close = v.address(closed)
	fields := v.facetFields()
	var names, own []string
	for _, f := range fields {
		names, own = append(names, v.facetName(f)), append(own, v.facetName(f), f.Name+"__in")
	}
	if p.Time, p.TimeLabel = unseenOf(v.resource); p.Time != "" {
		f, _ := v.resource.Field(strings.TrimSuffix(p.Time, "__lt"))
		p.TimeLabel = site.FieldLabel(f)
		for _, age := range unique([]string{"-1d", "-7d", "-30d", "-90d", v.query.Get(p.Time)}) {
			p.Ages = append(p.Ages, site.Choice{Label: "more than " + cmp.Or(ago(age), age), Value: age, Chosen: age == v.query.Get(p.Time)})
		}
		own = append(own, p.Time)
	}
	p.State = v.hidden(own...)
	if len(fields) == 0 || !forAll(v.resource) {
		return p, nil
	}
	s, err := v.SummaryWhere(v.resource.Name, v.without("page", "cursor", "limit", "sortby", "sort"), names...)
	if _, refused := site.AsFault(err); refused {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		shown, err := v.facet(f, s.By[v.facetName(f)], slices.Contains(s.AtLeast, v.facetName(f)))
		if err != nil {
			return nil, err
		}
		if len(shown.Values) > 0 {
			p.Facets = append(p.Facets, shown)
		}
	}
	return p, nil
}

// facetName returns the parameter of the values of a field. That of the location counts and finds what is within a site.
func (v *view) facetName(f *records.Field) string {
	isPlace := func(f *records.Field) bool { return f.Ref != nil && f.Name != "" && f.Ref.To == v.Places() }
	fields := v.resource.Fields()
	_, taken := v.resource.Field(belowParam)
	if i := slices.IndexFunc(fields, isPlace); i >= 0 && fields[i] == f && !taken && !v.query.Has(f.Name) && !v.query.Has(f.Name+"__in") {
		return belowParam
	}
	return f.Name
}

// facet returns a field with its most frequent values, and those that are chosen.
func (v *view) facet(f *records.Field, counts map[string]int64, atLeast bool) (*facet, error) {
	name := v.facetName(f)
	chosen := slices.Concat(v.query[name], splitValues(v.query.Get(f.Name+"__in")))
	if name == belowParam {
		chosen = split(v.query.Get(name))
	}
	frequent := slices.DeleteFunc(site.Frequent(counts), func(value string) bool { return value == "" || slices.Contains(chosen, value) })
	shown := &facet{Field: f, Label: site.FieldLabel(f), More: max(0, len(frequent)-maxFacetValues)}
	values := slices.Concat(chosen, frequent[:len(frequent)-shown.More])
	labels := map[string]string{}
	if f.Ref != nil {
		var err error
		if labels, err = v.Labels(f.Ref.To, values); err != nil {
			return nil, err
		}
	}
	for _, value := range values {
		if f.Ref != nil && labels[value] == "" {
			continue // not for the sender
		}
		one := facetValue{site.Choice{Label: cmp.Or(labels[value], map[string]string{"true": "yes", "false": "no"}[value], value), Value: name + "=" + value, Chosen: slices.Contains(chosen, value)}, ui.Count(counts[value])}
		if atLeast {
			one.Count += "+"
		}
		shown.Values = append(shown.Values, one)
	}
	return shown, nil
}

// splitValues returns the values of an alternative, as the API reads them.
func splitValues(text string) []string {
	r := csv.NewReader(strings.NewReader(text))
	r.LazyQuotes = true
	if values, err := r.Read(); err == nil {
		return values
	}
	return split(text)
}

// pick adds the values that are ticked in the panel to the query. Those of a field are alternatives, but for lists.
func (v *view) pick(ticked []string) {
	by := url.Values{}
	for _, one := range ticked[:min(len(ticked), maxFacets*maxFacetValues*2)] {
		if name, value, ok := strings.Cut(one, "="); ok && !slices.Contains(by[name], value) {
			by.Add(name, value)
		}
	}
	for name, values := range by {
		f, ok := v.resource.Field(name)
		if name == belowParam {
			v.query.Set(name, strings.Join(values, ","))
		}
		if !ok {
			continue
		}
		if f.Kind == records.List || len(values) == 1 {
			v.query[name] = values
			continue
		}
		for i, value := range values {
			if strings.ContainsAny(value, `,"`) {
				values[i] = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
			}
		}
		v.query.Set(name+"__in", strings.Join(values, ","))
	}
}
