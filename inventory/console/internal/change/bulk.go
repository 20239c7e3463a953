package change

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// many is the data of the pages that change or delete many records at once. It has three steps: what to change,
// a preview by a dry run of the API, and the change itself.
type many struct {
	*form
	Do    string // edit or delete
	Items []*item
	Gone  int // records that do not exist any more
	Set   []*setting
	Back  string // the path of the list
	Every *every // all records that match, in place of Items; nil for those that are selected

	site.Preview // of the dry run
	Sums         []sum
	Effects      []effect
	Refused      []*item
	Applying     bool   // the change itself was refused
	Stopped      bool   // the change of every record has stopped before its end
	Log          string // the address of its entries in the audit log; empty for none
}

// item is a record to change.
type item struct {
	ID, Label, URL string
	Version        string // that the preview has shown; empty before
	Diff           []site.Diff
	wanted         []string // what its set shall have; nil for no change
	Why            string   // it is refused

	rec   site.Record
	tries int // since it has been changed by others
}

// sum is a change that several records have in common.
type sum struct {
	site.Diff
	Count int
}

// setting is a field that may be changed.
type setting struct {
	*input
	On   bool
	List string // of a list: add, remove or replace
}

// bulk shows or makes a change of the records that the form value id has, several times.
func bulk(q *site.Request) error {
	if err := checkForm(q); err != nil {
		return err
	}
	does, verb := records.RouteChangeMany, "change"
	if q.R.PostForm.Get("do") == "delete" {
		does, verb = records.RouteDeleteMany, "delete"
	}
	r, err := target(q, does, verb)
	if err != nil {
		return err
	}
	m := &many{form: newForm(q, r, "many"), Do: "edit", Back: back(q, r)}
	m.Action, m.Cancel = "/r/"+r.Name+"/bulk", q.UI.URL(m.Back)
	m.drop(nil)
	m.ID = ""
	if does == records.RouteDeleteMany {
		m.Do = "delete"
	}
	if m.Every, err = readEvery(q.R.PostForm); err != nil {
		return err
	}
	of := "all "
	switch {
	case m.Every == nil:
		if err = m.load(); err == nil {
			of = ui.Count(len(m.Items)) + " "
		}
	case !q.R.PostForm.Has("_so_far"):
		err = m.begin()
	}
	if err != nil {
		return err
	}
	m.Title = strings.ToUpper(verb[:1]) + verb[1:] + " " + of + m.Noun()
	if m.Every != nil && m.Every.Words != "" {
		m.Title += " that match"
	}
	if m.Do == "delete" {
		return m.deleteStep()
	}
	return m.editStep()
}

// back returns the path of the list that the selection comes from.
func back(q *site.Request, r *records.Resource) string {
	list := "/r/" + r.Name
	path := q.R.PostForm.Get("_back")
	if from, err := url.Parse(q.R.Referer()); path == "" && err == nil && from.Path == q.ListURL(r.Name) {
		path = list + "?" + from.RawQuery
	}
	u, err := url.Parse(ui.LocalPath(path))
	if err != nil || u.Path != list {
		return list
	}
	query := u.Query()
	query.Del("done")
	if u.RawQuery = query.Encode(); u.RawQuery == "" {
		return list
	}
	return list + "?" + u.RawQuery
}

// done leads back to the list.
func (m *many) done(word string) error {
	separator := "?"
	if strings.Contains(m.Back, "?") {
		separator = "&"
	}
	return m.q.Redirect(m.Back + separator + "done=" + word)
}

// load reads the selected records. A value is an id, with the version that the preview has shown after an @.
func (m *many) load() error {
	versions, position := map[string]string{}, map[string]int{}
	for i, value := range m.q.R.PostForm["id"] {
		id, version, _ := strings.Cut(strings.ToLower(value), "@")
		if !records.ValidID(id) {
			return httpx.Errorf(http.StatusBadRequest, "The selection has an invalid id")
		}
		if _, known := versions[id]; !known {
			position[id] = i
		}
		versions[id] = version
	}
	ids := slices.Collect(maps.Keys(versions))
	switch {
	case len(ids) == 0:
		return httpx.Errorf(http.StatusBadRequest, "No records are selected: go back and select some")
	case len(ids) > records.MaxItems:
		return httpx.Errorf(http.StatusBadRequest, "%s %s are selected, and one change may have at most %s: select fewer",
			ui.Count(len(ids)), site.Plural(m.Resource), ui.Count(records.MaxItems))
	}
	recs, err := m.q.ByIDs(m.Resource.Name, ids)
	if err != nil {
		return err
	}
	slices.SortFunc(recs, func(a, b site.Record) int { return position[a.ID()] - position[b.ID()] })
	m.Gone = len(ids) - len(recs)
	return m.take(recs, versions)
}

// take makes records the items.
func (m *many) take(recs []site.Record, versions map[string]string) error {
	choices, err := describe(m.q, m.Resource, recs)
	if err != nil {
		return err
	}
	m.Items = nil
	for i, rec := range recs {
		m.Items = append(m.Items, &item{
			ID: rec.ID(), Label: choices[i].Text, URL: m.q.RecordURL(m.Resource.Name, rec.ID()), Version: versions[rec.ID()], rec: rec,
		})
	}
	return m.prepare(recs...)
}

// version is the stored version.
func (it *item) version() string { return it.rec.Text("version") }

// Current is the value of id for the next step.
func (it *item) Current() string { return it.ID + "@" + it.version() }

// editable reports whether several records may get the same value of a field.
func editable(r *records.Resource, f *records.Field) bool {
	if f.WriteOnly {
		return false
	}
	for _, key := range r.Uniques() {
		if f.Ref == nil && slices.Contains(key.Fields, f.Name) {
			return false
		}
	}
	return true
}

// settings reads which fields to change, and their values.
func (m *many) settings() {
	values := m.q.R.PostForm
	m.read(values)
	for _, group := range m.Groups {
		for _, in := range group.Inputs {
			if !editable(m.Resource, in.Field) {
				continue
			}
			s := &setting{input: in, On: slices.Contains(values["_set"], in.Name)}
			in.Must = false
			if in.Kind == records.List {
				s.List = "add"
				if op := values.Get(in.Name + ".op"); op == "remove" || op == "replace" {
					s.List = op
				}
			}
			m.Set = append(m.Set, s)
		}
	}
}

// Chosen are the fields to change.
func (m *many) Chosen() []*setting {
	return slices.DeleteFunc(slices.Clone(m.Set), func(s *setting) bool { return !s.On })
}

// editStep is the step of a change.
func (m *many) editStep() error {
	m.settings()
	step := m.q.R.PostForm.Get("_step")
	if step == "" || len(m.Items) == 0 && m.Every == nil {
		for _, s := range m.Set {
			s.set(s.Default)
		}
		return m.ask(http.StatusOK)
	}
	if len(m.Chosen()) == 0 {
		m.Problem = "No field is chosen: tick those to change"
		return m.ask(http.StatusUnprocessableEntity)
	}
	var chosen []*input
	for _, s := range m.Chosen() {
		chosen = append(chosen, s.input)
	}
	if err := m.resolve(chosen); err != nil {
		return err
	}
	switch {
	case len(m.Faults()) > 0:
		return m.ask(http.StatusUnprocessableEntity)
	case step == "choose":
		return m.ask(http.StatusOK)
	case m.Every != nil:
		return m.goOn(step)
	case step == "apply":
		return m.apply()
	}
	return m.preview(http.StatusOK)
}

// ask shows the fields.
func (m *many) ask(status int) error {
	if m.Every != nil && m.Items == nil {
		if err := m.begin(); err != nil {
			return err
		}
	}
	for _, s := range m.Set {
		s.On = s.On || s.Fault != ""
	}
	return m.respond(status, "change-bulk.html")
}

// respond shows a page.
func (m *many) respond(status int, template string) error {
	if status >= http.StatusBadRequest {
		m.problem()
	}
	if err := m.suggest(); err != nil {
		return err
	}
	return m.q.PageStatus(status, template, m.Title, m)
}

// body returns what an item of a bulk request has for a record that must have a version, if that is not empty.
func (it *item) body(version string) map[string]any {
	body := map[string]any{"id": it.ID}
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		body["if_version"] = n
	}
	return body
}

// patch returns the item of a bulk request for a record.
func (m *many) patch(it *item, version string) map[string]any {
	body := it.body(version)
	for _, s := range m.Chosen() {
		body[s.Name] = s.value(it.rec)
	}
	it.wanted, it.Why = m.complete(it.rec, body)
	return body
}

// plan returns the items of a bulk request for records, which must be as they were read. Refused are those that the change does not fit.
func (m *many) plan(items []*item) (fit []*item, bodies []map[string]any) {
	m.Refused = nil
	if m.set != nil {
		m.set.create, m.set.remove = nil, nil
	}
	for _, it := range items {
		body := it.body(it.version())
		if m.Do == "edit" {
			body = m.patch(it, it.version())
			if it.Why != "" {
				m.Refused = append(m.Refused, it)
				continue
			}
		}
		fit, bodies = append(fit, it), append(bodies, body)
	}
	return fit, bodies
}

// method returns the method of the bulk request.
func (m *many) method() string {
	if m.Do == "delete" {
		return http.MethodDelete
	}
	return http.MethodPatch
}

// reset reports whether the set of a record becomes another one.
func (m *many) reset(it *item) bool {
	if it.wanted == nil {
		return false
	}
	d := m.set.diff(it.rec, it.wanted)
	return d.Before != d.After
}

// value returns the new value of a field of a record.
func (s *setting) value(rec site.Record) any {
	value := encode(s.Field, s.typed(), "")
	typed, isList := value.([]string)
	if !isList || s.List == "replace" {
		return value
	}
	before := []string{}
	list, _ := rec[s.Name].([]any)
	for _, e := range list {
		before = append(before, site.Text(e))
	}
	if s.List == "remove" {
		return slices.DeleteFunc(before, func(e string) bool { return slices.Contains(typed, e) })
	}
	for _, e := range typed {
		if !slices.Contains(before, e) {
			before = append(before, e)
		}
	}
	return before
}

// apply makes the change, on the condition that no record has changed since the preview.
func (m *many) apply() error {
	var bodies []map[string]any
	for _, it := range m.Items {
		bodies = append(bodies, m.patch(it, it.Version))
	}
	_, err := m.change(&site.Call{Method: http.MethodPatch, Path: "/" + m.Resource.Name, Body: bodies})
	if fault, ok := site.Refused(err); ok {
		m.Applying = true
		m.refuseItems(fault, m.Items)
		m.Problem = "Nothing was changed: " + fault.Message
		if len(m.Refused) > 0 {
			m.Problem = "Nothing was changed: " + ui.Count(len(m.Refused)) + " of " + ui.Count(len(m.Items)) + " " + m.Noun() + " were refused"
		}
		return m.respond(fault.Status, "change-preview.html")
	}
	if err != nil {
		return err
	}
	return m.done("applied")
}

// Noun is the name of the selected records.
func (m *many) Noun() string {
	if len(m.Items) == 1 && m.Every == nil {
		return m.Resource.Noun()
	}
	return site.Plural(m.Resource)
}
