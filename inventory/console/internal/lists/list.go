package lists

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// listTemplate is the page of a list.
const listTemplate = "list.html"

// The ids of elements that htmx replaces.
const (
	rowsID   = "lists-rows"
	searchID = "lists-search"
)

// list is the data of the page of a list.
type list struct {
	Resource *records.Resource
	Self     string // the address of the list without parameters
	Here     string // with the parameters of this view

	Search                        string
	Searchable                    bool
	SearchState, Columns, RowsFor []pair // hidden values of the forms
	Chips                         []chip
	Clear                         string // the address without filters and search; empty without any
	Reset                         string // the address with the usual columns; empty if they are shown
	Presets                       []preset
	Choices                       []site.Choice // the columns to choose from
	Sizes                         []site.Choice
	Exports                       []exportLinks
	Editor                        *editor
	Panel                         *panel // nil unless it is shown
	Open                          string // the address with the panel
	Views                         *views
	Lost                          []string // columns of the address that the records do not have

	New               string // the address of the form, if the sender may
	Verb              string // of the form; empty is to create
	Offers            []site.Action
	Edit, Delete      bool   // whether the sender may change, or delete, several records
	Follow            string // resources whose changes the list follows
	Tools             bool   // the part has the tools of the list too
	Problem           *site.Fault
	Head              []column
	Rows              []row
	Count             string // how many records there are, in words
	Total             int64
	From, To          int
	Previous, Forward string
	Every             *site.Choice // to select all records that match; nil if the page has all of them
	Filters           string       // and the search, for people
}

// column is the head of a column.
type column struct {
	Label, Sort string // Sort is ascending, descending, or empty
	URL         string // to sort by it; empty if that is not possible
	Number      bool
}

// row is a record.
type row struct {
	ID, URL, Label string
	Cells          []cell
}

// cell is a value of a record. The first cell of a row is the link to the record.
type cell struct {
	site.Cell
	Label string // of the column
	Name  bool
}

// showList serves the page of a list, or its rows for htmx.
func showList(q *site.Request) error { return showListWith(q, nil, http.StatusOK) }

// showListWith is showList with a status, and a view that could not be saved unless that is nil.
func showListWith(q *site.Request, unsaved *views, status int) error {
	v, err := parseView(q)
	if err != nil {
		return err
	}
	if to := v.withAdded(); to != "" {
		http.Redirect(q.W, q.R, to, http.StatusSeeOther)
		return nil
	}
	page, err := q.List(v.resource.Name, v.pageQuery())
	problem, refused := site.AsFault(err)
	if err != nil && (!refused || problem.Status == http.StatusUnauthorized) {
		return err
	}
	l, err := v.list(page, problem)
	if err != nil {
		return err
	}
	if ui.IsPart(q.R) {
		if l.Tools = q.R.Header.Get("HX-Trigger") == searchID; l.Tools {
			q.W.Header().Set("HX-Push-Url", l.Here)
		}
		return q.Part(listTemplate, rowsID, l)
	}
	if unsaved != nil && l.Views != nil {
		l.Views.Name, l.Views.Problem = unsaved.Name, unsaved.Problem
	}
	if l.Problem != nil {
		status = l.Problem.Status
	}
	return q.PageStatus(status, listTemplate, site.Title(l.Resource), l)
}

// list returns the data of the page with some records, or with the reason why the API refuses to list them.
func (v *view) list(page *site.Page, problem *site.Fault) (*list, error) {
	r := v.resource
	l := &list{
		Problem:  problem,
		Resource: r, Self: v.ListURL(r.Name),
		Search: v.query.Get("q"), SearchState: v.hidden("q"), Columns: v.hidden(columnParam), RowsFor: v.hidden("limit"),
		Edit: v.May(r.Name, records.RouteChangeMany), Delete: v.May(r.Name, records.RouteDeleteMany),
	}
	l.Searchable = l.Search != "" || slices.ContainsFunc(r.Fields(), func(f *records.Field) bool { return f.Search && visible(f) })
	if !r.Unaudited && forAll(r) {
		l.Follow = r.Name
	}
	if v.May(r.Name, records.RouteCreate) {
		l.New, l.Verb = l.Self+"/new", v.Edits[r.Name].Verb
		for _, offer := range v.Offers {
			if offer.Show(v.Request, r) {
				l.Offers = append(l.Offers, site.Action{Label: offer.Label, Icon: offer.Icon, URL: v.UI.URL(offer.Path(r))})
			}
		}
	}
	here := v.state()
	for _, name := range []string{"page", "cursor"} {
		if v.query.Has(name) {
			here[name] = v.query[name]
		}
	}
	l.Here = v.address(here)
	if problem == nil {
		if err := v.addRecords(l, page); err != nil {
			return nil, err
		}
	}
	return l, v.addTools(l)
}

// forAll reports whether everybody may read the records. Reads of others are in the audit log, so the console
// does not read them in passing.
func forAll(r *records.Resource) bool {
	return r.Access.Read.Or(records.Permission{Everyone: true}).Everyone
}

// addTools adds what changes the view.
func (v *view) addTools(l *list) (err error) {
	if l.Chips, err = v.chips(); err != nil {
		return err
	}
	for _, c := range l.Chips {
		l.Filters = strings.TrimPrefix(l.Filters+"; "+c.Text(), "; ")
	}
	if l.Search != "" {
		l.Filters = strings.TrimPrefix(l.Filters+"; search for "+l.Search, "; ")
	}
	if len(l.Chips) > 0 || l.Search != "" || l.Problem != nil {
		state := v.state()
		for _, name := range append(v.filters(), "q") {
			state.Del(name)
		}
		if l.Problem != nil {
			state.Del("sortby")
			state.Del("limit")
		}
		l.Clear = v.address(state)
	}
	for _, f := range v.columns { // the form sends them in this order
		l.Choices = append(l.Choices, site.Choice{Label: labelOf(v.resource, f), Value: f.Name, Chosen: true})
	}
	for _, f := range v.resource.Fields() {
		if visible(f) && !slices.ContainsFunc(v.columns, func(c *records.Field) bool { return slices.Contains(alternatives(v.resource, c), f) }) {
			l.Choices = append(l.Choices, site.Choice{Label: labelOf(v.resource, f), Value: f.Name})
		}
	}
	if v.chosen {
		l.Reset = v.with(columnParam)
	}
	for _, n := range []string{"25", strconv.Itoa(defaultRows), "100"} {
		l.Sizes = append(l.Sizes, site.Choice{Label: n, Value: n, Chosen: n == strconv.Itoa(v.number("limit", defaultRows))})
	}
	l.Exports = v.exports()
	if l.Presets, err = v.presets(l); err != nil {
		return err
	}
	l.Lost = v.lost
	if l.Views, err = v.views(); err != nil {
		return err
	}
	if v.panelled {
		if l.Panel, err = v.panel(); err != nil {
			return err
		}
	}
	open := v.state()
	open.Set(panelParam, "open")
	l.Open = v.address(open)
	l.Editor, err = v.editor()
	return err
}

// addRecords adds the records of a page, and the links to other pages.
func (v *view) addRecords(l *list, page *site.Page) error {
	labels, err := v.RefLabels(v.read(), page.Data)
	if err != nil {
		return err
	}
	l.Head = v.head()
	for _, rec := range page.Data {
		l.Rows = append(l.Rows, v.row(rec, labels))
	}
	if err := v.addComputed(l, page.Data); err != nil {
		return err
	}
	l.Total, v.placed = page.Meta.Total, page.Meta.Count == "estimated" && page.Meta.Total < records.MaxEstimate
	l.Count = site.CountOf(page, v.resource)
	v.addPages(l, page)
	if l.Previous != "" || l.Forward != "" {
		l.Every = &site.Choice{Value: v.without("page", "cursor", "limit", "sortby", "sort").Encode(), Label: "Select all " + l.Count}
		if page.Meta.Count == "estimated" {
			l.Every.Label = "Select all, " + l.Count
		}
		if l.Every.Value != "" {
			l.Every.Label += " that match"
		}
	}
	return nil
}

// addPages adds the links to other pages. A next page begins after a cursor; its number says what the page
// before it is.
func (v *view) addPages(l *list, page *site.Page) {
	number, size := v.number("page", 1), min(v.number("limit", defaultRows), records.MaxLimit)
	if len(l.Rows) > 0 {
		l.From = (number-1)*size + 1
		l.To = l.From + len(l.Rows) - 1
	}
	if number == 2 {
		l.Previous = v.with("page")
	} else if number > 2 {
		l.Previous = v.with("page", strconv.Itoa(number-1))
	}
	if page.Meta.NextCursor != "" {
		state := v.state()
		state.Set("page", strconv.Itoa(number+1))
		state.Set("cursor", page.Meta.NextCursor)
		l.Forward = v.address(state)
	}
}

// head returns the heads of the columns, after that of the name of a record.
func (v *view) head() []column {
	name, all := nameField(v.resource), []column{{Label: v.resource.Label}}
	if name != nil {
		all[0] = v.column(name)
	}
	for _, f := range v.columns {
		if f != name {
			all = append(all, v.column(f))
		}
	}
	return all
}

// column returns the head of a column. It leads to the list sorted by it, and then in the other direction.
func (v *view) column(f *records.Field) column {
	c := column{Label: labelOf(v.resource, f), Number: f.Kind == records.Int || f.Kind == records.Float}
	if !f.Sortable() {
		return c
	}
	next := f.Name + ":asc"
	if order := v.order(); len(order) > 0 {
		switch order[0] {
		case f.Name + ":asc":
			c.Sort, next = "ascending", f.Name+":desc"
		case f.Name + ":desc":
			c.Sort = "descending"
		}
	}
	state := v.state()
	state.Del("sort")
	state["sortby"] = []string{next}
	c.URL = v.address(state)
	return c
}

// row returns a record as it is shown.
func (v *view) row(rec site.Record, labels map[string]string) row {
	name := nameField(v.resource)
	first := cell{Cell: site.Cell{Kind: "text", Text: site.Label(v.resource, rec), Rec: rec}, Label: v.resource.Label, Name: true}
	if name != nil {
		c := v.Cell(name, rec, labels)
		first.Label = site.FieldLabel(name)
		if text := rec.Text(name.Name); text != "" {
			c.Text = text
			first.Cell = c
		}
	}
	first.URL = v.RecordURL(v.resource.Name, rec.ID())
	row := row{ID: rec.ID(), URL: first.URL, Label: first.Text}
	if name == nil { // the head of the column says what it is
		first.Text = strings.TrimPrefix(first.Text, v.resource.Label+" ")
	}
	row.Cells = append(row.Cells, first)
	for _, f := range v.columns {
		if f != name {
			row.Cells = append(row.Cells, cell{Cell: v.valueOf(v.present(f, rec), rec, labels), Label: labelOf(v.resource, f)})
		}
	}
	return row
}

// valueOf returns a value. The id in an entry of the audit log is a link to what was changed.
func (v *view) valueOf(f *records.Field, rec site.Record, labels map[string]string) site.Cell {
	c := v.Cell(f, rec, labels)
	kind := rec.Text("resource_type")
	if f.Name != "resource_id" || kind == "" || c.Text == "" {
		return c
	}
	if r := v.OfKind(kind); r != nil && v.May(r.Name, records.RouteGet) {
		c.Kind, c.URL, c.Text = "link", v.RecordURL(r.Name, c.Text), strings.ToLower(r.Label)+" …"+c.Text[max(0, len(c.Text)-8):]
	}
	return c
}
