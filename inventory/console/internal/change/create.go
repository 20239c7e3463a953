package change

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// newRecord returns the form of a new record.
func newRecord(q *site.Request) (*form, error) {
	r, err := target(q, records.RouteCreate, "create")
	if err != nil {
		return nil, err
	}
	f := newForm(q, r, "")
	f.Title, f.Action, f.Cancel, f.Verb = "New "+r.Noun(), "/r/"+r.Name, q.ListURL(r.Name), q.Edits[r.Name].Verb
	if f.Verb != "" {
		f.Title = f.Verb + " a " + r.Noun()
	}
	return f, nil
}

// showNew shows the form of a new record. Parameters with the names of fields are its first values.
func showNew(q *site.Request) error {
	f, err := newRecord(q)
	if err != nil {
		return err
	}
	query := q.R.URL.Query()
	query.Del("done")
	f.Prefill = query.Encode()
	filled, err := f.filled(query.Get(f.edit().First))
	if err != nil {
		return err
	}
	for _, in := range f.Inputs {
		value := in.Default
		if begin, ok := f.edit().Begin[in.Name]; ok {
			value = begin
		}
		if of, ok := filled[in.Name]; ok && !query.Has(in.Name) {
			value, in.Filled = of, true
		}
		if query.Has(in.Name) {
			value = query.Get(in.Name)
		}
		if !in.WriteOnly {
			in.set(value)
		}
	}
	begun := site.Record{}
	for name := range query {
		begun[name] = query.Get(name)
	}
	if err := f.prepare(begun); err != nil {
		return err
	}
	if err := f.name(); err != nil {
		return err
	}
	return f.page(http.StatusOK, "change-form.html")
}

// filled returns the values that the record with an id, which the first field names, determines.
func (f *form) filled(id string) (map[string]string, error) {
	first := f.input(f.edit().First)
	if id == "" || first == nil || first.Ref == nil || !f.q.MaySee(first.Ref.To) {
		return nil, nil
	}
	recs, err := f.q.ByIDs(first.Ref.To, []string{id})
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	values := map[string]string{}
	for of, name := range f.edit().Fills {
		if in := f.input(name); in != nil && recs[0].Text(of) != "" {
			values[name], in.From = recs[0].Text(of), strings.ToLower(first.Label())
		}
	}
	return values, nil
}

// create creates a record. The Idempotency-Key of the form makes one record of a form that is sent twice.
func create(q *site.Request) error {
	if err := checkForm(q); err != nil {
		return err
	}
	f, err := newRecord(q)
	if err != nil {
		return err
	}
	f.read(q.R.PostForm)
	if err := f.resolve(f.Inputs); err != nil {
		return err
	}
	body := f.body()
	begun := site.Record{}
	for name, value := range body {
		begun[name] = value
	}
	if err := f.prepare(begun); err != nil {
		return err
	}
	if len(f.Faults()) > 0 {
		return f.page(http.StatusUnprocessableEntity, "change-form.html")
	}
	rec, done := site.Record{}, false
	call := &site.Call{Method: http.MethodPost, Path: "/" + f.Resource.Name, Body: body, Key: f.Key}
	_, why := f.complete(site.Record{}, body)
	switch own := q.Edits[f.Resource.Name].Create; {
	case why != "":
		err = &site.Fault{Status: http.StatusBadRequest, Message: why}
	case own != nil:
		rec, done, err = own(q, call)
	case f.set != nil && len(f.set.create) > 0:
		rec, err = f.changeOne(call, body)
	default:
		_, err = q.Do(call, &rec)
	}
	if fault, ok := site.Refused(err); ok {
		f.refuse(fault)
		if fault.Status == http.StatusUnprocessableEntity && len(fault.Fields) == 0 {
			f.Key, f.Problem = "", "This form has created a record before. Save it again to create another one."
		}
		return f.page(fault.Status, "change-form.html")
	}
	if err != nil || done {
		return err
	}
	if q.R.PostForm.Get("_then") == "another" {
		return q.Redirect("/r/" + f.Resource.Name + "/new?" + f.another().Encode())
	}
	if !q.May(f.Resource.Name, records.RouteGet) {
		return q.Redirect("/r/" + f.Resource.Name + "?done=created")
	}
	return q.Redirect("/r" + pathOf(f.Resource, rec.ID()) + "?done=created")
}

// another returns the parameters of the form of another record: what this one began with, and its choices.
func (f *form) another() url.Values {
	query, err := url.ParseQuery(f.Prefill)
	if err != nil {
		query = url.Values{}
	}
	for _, in := range f.Inputs {
		switch {
		case in.absent, in.WriteOnly:
		case in.Ref != nil && in.ID != "":
			query.Set(in.Name, in.ID)
		case in.Control == "select" && in.Value != in.Default && in.Value != "":
			query.Set(in.Name, in.Value)
		}
	}
	query.Set("done", "created")
	return query
}

// checkForm refuses a request without the values of a form.
func checkForm(q *site.Request) error {
	if err := q.R.ParseForm(); err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form: it must have the values of the page that it belongs to")
	}
	return nil
}
