package change

import (
	"net/http"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// existing returns the form of a record that exists, without values.
func existing(q *site.Request) (*form, error) {
	r, err := target(q, records.RouteChange, "change")
	if err != nil {
		return nil, err
	}
	f := newForm(q, r, q.R.PathValue("id"))
	f.Action = "/r" + pathOf(r, f.ID)
	f.Cancel = q.RecordURL(r.Name, f.ID)
	if isOwn(q) && !q.May(r.Name, records.RouteList) {
		f.Cancel = q.UI.URL("/account")
		f.Crumbs = []site.Link{{Label: "Your account", URL: f.Cancel}}
	}
	return f, nil
}

// entitle sets the title and the way to the form from the record.
func (f *form) entitle(rec site.Record) {
	f.drop(rec)
	label := site.Label(f.Resource, rec)
	f.Title = "Edit " + label
	f.Crumbs = append(f.Crumbs, site.Link{Label: label, URL: f.Cancel})
	if f.q.Edits[f.Resource.Name].Only == nil {
		return
	}
	for _, field := range f.Resource.Fields() {
		if value := rec.Text(field.Name); f.input(field.Name) == nil && !field.ReadOnly && value != "" {
			f.Fixed = append(f.Fixed, fixed{site.FieldLabel(field), value})
		}
	}
}

// showEdit shows the form of a record.
func showEdit(q *site.Request) error {
	f, err := existing(q)
	if err != nil {
		return err
	}
	rec, match, err := q.One(f.Resource.Name, f.ID)
	if err != nil {
		return err
	}
	f.Match = match
	f.entitle(rec)
	if err := f.prepare(rec); err != nil {
		return err
	}
	if err := f.fill(rec); err != nil {
		return err
	}
	return f.page(http.StatusOK, "change-form.html")
}

// save sends what the user has changed, on the condition that nobody else has changed the record.
func save(q *site.Request) error {
	if err := checkForm(q); err != nil {
		return err
	}
	f, err := existing(q)
	if err != nil {
		return err
	}
	f.read(q.R.PostForm)
	if err := f.resolve(f.Inputs); err != nil {
		return err
	}
	if len(f.Faults()) == 0 && !f.choose(q.R.PostForm) {
		return f.conflict(http.StatusUnprocessableEntity)
	}
	if len(f.Faults()) > 0 {
		return f.again(http.StatusUnprocessableEntity)
	}
	if body := f.body(); len(body) > 0 {
		err = f.send(body)
	}
	fault, refused := site.Refused(err)
	switch {
	case refused && fault.Status == http.StatusPreconditionFailed:
		return f.conflict(fault.Status)
	case refused && fault.Status != http.StatusNotFound:
		f.refuse(fault)
		return f.again(fault.Status)
	case err != nil:
		return err
	case isOwn(q) && !q.May(f.Resource.Name, records.RouteList):
		return q.Redirect("/account?done=saved")
	}
	return q.Redirect("/r" + pathOf(f.Resource, f.ID) + "?done=saved")
}

// send makes a change.
func (f *form) send(body map[string]any) error {
	call := &site.Call{Method: http.MethodPatch, Path: pathOf(f.Resource, f.ID), Body: body, Match: f.Match}
	if edit := f.q.Edits[f.Resource.Name]; edit.Complete != nil {
		rec, match, err := f.q.One(f.Resource.Name, f.ID)
		if err == nil {
			err = f.prepare(rec)
		}
		if err != nil {
			return err
		}
		if _, why := f.complete(rec, body); why != "" {
			return &site.Fault{Status: http.StatusUnprocessableEntity, Message: why}
		}
		if f.set != nil && len(f.set.remove)+len(f.set.create) > 0 {
			if match != f.Match {
				return &site.Fault{Status: http.StatusPreconditionFailed}
			}
			body["id"], body["if_version"] = rec.ID(), rec["version"]
			_, err := f.changeOne(&site.Call{Method: http.MethodPatch, Path: "/" + f.Resource.Name}, body)
			return err
		}
	}
	if len(body) == 0 {
		return nil
	}
	_, err := f.q.Do(call, nil)
	return err
}

// again shows the form with what is wrong.
func (f *form) again(status int) error {
	rec, _, err := f.q.One(f.Resource.Name, f.ID)
	if _, shown := site.Refused(err); err != nil && !shown {
		return err
	}
	f.entitle(rec)
	if err == nil {
		err = f.prepare(rec)
	}
	if err != nil {
		return err
	}
	if err := f.name(); err != nil {
		return err
	}
	return f.page(status, "change-form.html")
}
