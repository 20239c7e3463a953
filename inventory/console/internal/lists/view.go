package lists

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The parameters of the console in the address of a list. Others are those of the API.
const (
	columnParam = "column"    // a field that is shown; may be repeated
	fieldParam  = "add-field" // these three add a filter
	opParam     = "add-op"
	valueParam  = "add-value"
	doneParam   = "done"       // a message about what has just been done
	panelParam  = "add-panel"  // whether the panel of filters is shown
	pickParam   = "add-pick"   // a field and a value of it that are ticked in the panel; may be repeated
	pickedParam = "add-picked" // the panel was sent
)

const (
	defaultRows = 50
	maxColumns  = 30
	maxParams   = 60 // of the address, more than the API accepts
)

// view is the state of a list: what its address says.
type view struct {
	*site.Request
	resource *records.Resource
	query    url.Values // for the API, without empty values
	columns  []*records.Field
	panelled bool     // the panel is shown
	chosen   bool     // the address names the columns
	lost     []string // of them those that the records do not have
	placed   bool     // the records have their places through others, which takes too long to count all of them
}

// parseView reads the address of a request. It checks nothing that the API checks.
func parseView(q *site.Request) (*view, error) {
	r, err := q.Resource()
	if err != nil {
		return nil, err
	}
	v := &view{Request: q, resource: r, query: url.Values{}}
	all := q.R.URL.Query()
	for name, values := range all {
		values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return strings.TrimSpace(s) == "" })
		switch name {
		case columnParam, fieldParam, opParam, valueParam, doneParam, panelParam, pickParam, pickedParam, "fields", "count", "format", "keys":
		default:
			if len(values) > 0 && len(v.query) < maxParams {
				v.query[name] = values
			}
		}
	}
	v.panelled = all.Get(panelParam) != ""
	v.columns = v.shown(all[columnParam])
	if v.chosen = len(v.columns) > 0; !v.chosen {
		v.columns = defaultColumns(r)
		if old, _ := unseenOf(r); v.query.Has(old) { // how long it is
			v.columns = append(v.columns, v.shown([]string{strings.TrimSuffix(old, "__lt")})...)
		}
	}
	return v, nil
}

// shown returns the fields with these names that can be shown.
func (v *view) shown(names []string) (fields []*records.Field) {
	for _, name := range names {
		f, ok := v.resource.Field(name)
		if ok && visible(f) && !slices.Contains(fields, f) && len(fields) < maxColumns {
			fields = append(fields, f)
		} else if !ok && len(v.lost) < maxColumns {
			v.lost = append(v.lost, site.Clip(name, 80))
		}
	}
	return fields
}

// without returns the query without some parameters.
func (v *view) without(names ...string) url.Values {
	query := maps.Clone(v.query)
	for _, name := range names {
		query.Del(name)
	}
	return query
}

// state returns the parameters of another view of the same list: on its first page.
func (v *view) state() url.Values {
	state := v.without("page", "cursor")
	if v.chosen {
		state[columnParam] = v.names()
	}
	if v.panelled {
		state.Set(panelParam, "open")
	}
	return state
}

// address returns the address of a view of the list.
func (v *view) address(state url.Values) string {
	to := v.ListURL(v.resource.Name)
	if len(state) > 0 {
		to += "?" + state.Encode()
	}
	return to
}

// with returns the address of the list with a parameter that has another value, or none.
func (v *view) with(name string, values ...string) string {
	state := v.state()
	state.Del(name)
	if len(values) > 0 {
		state[name] = values
	}
	return v.address(state)
}

// order returns the order that is in force, as values of sortby: that of the address, or else of what names
// the records, if an index has that. Parts of other records, such as ports, are in the order of these first.
func (v *view) order() []string {
	if v.query.Has("sortby") || v.query.Has("sort") || len(v.resource.Order) > 0 || v.resource.Latest != nil {
		return v.query["sortby"]
	}
	if f := cmp.Or(site.NumberField(v.resource), site.LabelField(v.resource)); f != nil && f.Sortable() && v.resource.Indexed(f) {
		for _, u := range v.resource.Uniques() {
			if of, ok := v.resource.Field(u.Fields[0]); ok && of.Ref != nil && of.Ref.Cascade && slices.Equal(u.Fields[1:], []string{f.Name}) {
				return []string{of.Name + ":asc", f.Name + ":asc"}
			}
		}
		return []string{f.Name + ":asc"}
	}
	return nil
}

// apiQuery returns the query of the list of the API, without its page.
func (v *view) apiQuery() url.Values {
	query := v.without("page", "cursor", "limit")
	if order := v.order(); order != nil {
		query["sortby"] = order
	}
	return query
}

// names returns the names of the columns.
func (v *view) names() (names []string) {
	for _, f := range v.columns {
		names = append(names, f.Name)
	}
	return names
}

// pageQuery returns the query of the list of the API for the page that the address asks for.
func (v *view) pageQuery() url.Values {
	names := []string{"id"}
	if f := nameField(v.resource); f != nil {
		names = append(names, f.Name)
	}
	for _, f := range v.read() {
		names = append(names, f.Name)
	}
	query := v.apiQuery()
	query.Set("fields", strings.Join(unique(names), ","))
	query.Set("count", "estimated")
	query.Set("limit", strconv.Itoa(defaultRows))
	for _, name := range []string{"limit", "cursor", "page"} {
		if v.query.Has(name) && (name != "page" || !v.query.Has("cursor")) {
			query[name] = v.query[name]
		}
	}
	return query
}

// filters returns the parameters that filter, in the order of the alphabet.
func (v *view) filters() []string {
	return slices.Sorted(maps.Keys(v.without("q", "page", "cursor", "limit", "sortby", "sort")))
}

// pair is a hidden value of a form.
type pair struct{ Name, Value string }

// hidden returns the state as values of a form, without the named parameters.
func (v *view) hidden(without ...string) (pairs []pair) {
	state := v.state()
	for _, name := range without {
		state.Del(name)
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		for _, value := range state[name] {
			pairs = append(pairs, pair{name, value})
		}
	}
	return pairs
}

// number returns a parameter that is a whole number from 1, or another number.
func (v *view) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(v.query.Get(name)); err == nil && n > 0 && n < 1<<30 {
		return n
	}
	return otherwise
}
