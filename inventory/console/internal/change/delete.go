package change

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// deletion is the data of the page that asks before a deletion.
type deletion struct {
	Crumbs []site.Link
	Title  string
	Label  string
	Of     string // the resource
	Action string
	Cancel string
	Match  string
	*site.Preview
	Effects  []effect
	Problem  string
	Stopping []site.Link // lists of the records that prevent it
}

// effect describes the changes of a deletion to records of one resource.
type effect struct {
	Title string
	Count int
	Links []site.Link // the first ones
	More  int
}

// maxLinks is the maximum number of records that a page links to.
const maxLinks = 12

// effects groups the changes of a dry run, except those of the records that are deleted themselves.
func effects(q *site.Request, changes []site.Change, deleted func(id string) bool) ([]effect, error) {
	var all []effect
	type group struct{ kind, action, field string }
	members := map[group][]site.Change{}
	var order []group
	for _, e := range changes {
		if e.Action == "delete" && deleted(e.ID) {
			continue
		}
		g := group{e.Kind, e.Action, ""}
		for name := range e.Changes {
			if e.Action != "delete" && name > g.field {
				g.field = name
			}
		}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], e)
	}
	for _, g := range order {
		r := q.OfKind(g.kind)
		if r == nil {
			continue
		}
		entries := members[g]
		e := effect{Count: len(entries), More: max(0, len(entries)-maxLinks), Title: site.Title(r) + " that are deleted too"}
		if f, ok := r.Field(g.field); ok {
			e.Title = site.Title(r) + " whose field " + site.FieldLabel(f) + " changes"
			if v := entries[0].Changes[g.field].After; v == nil || v == "" {
				e.Title = site.Title(r) + " that lose their " + strings.ToLower(site.FieldLabel(f))
			}
		}
		var err error
		if e.Links, err = links(q, r, entries[:len(entries)-e.More]); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// links returns links to the records of entries.
func links(q *site.Request, r *records.Resource, entries []site.Change) ([]site.Link, error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	names, err := namesOf(q, map[string][]string{r.Name: ids})
	if err != nil {
		return nil, err
	}
	all := make([]site.Link, len(ids))
	for i, id := range ids {
		all[i] = site.Link{Label: cmp.Or(names[id], site.Label(r, site.Record{"id": id})), URL: q.RecordURL(r.Name, id)}
	}
	return all, nil
}

// showDelete says what the deletion of a record would do.
func showDelete(q *site.Request) error { return askDelete(q, http.StatusOK, "") }

func askDelete(q *site.Request, status int, problem string) error {
	r, err := target(q, records.RouteDelete, "delete")
	if err != nil {
		return err
	}
	rec, match, err := q.One(r.Name, q.R.PathValue("id"))
	if err != nil {
		return err
	}
	d := &deletion{
		Label: site.Label(r, rec), Of: r.Name, Match: match, Problem: problem,
		Action: "/r" + pathOf(r, rec.ID()) + "/delete", Cancel: q.RecordURL(r.Name, rec.ID()),
	}
	d.Title = "Delete " + d.Label
	d.Crumbs = []site.Link{{Label: site.Title(r), URL: q.ListURL(r.Name)}, {Label: d.Label, URL: d.Cancel}}
	d.Preview, err = q.DryRun(&site.Call{Method: http.MethodDelete, Path: pathOf(r, rec.ID())})
	if fault, ok := site.Refused(err); ok {
		d.Problem, d.Match = fault.Message, ""
		d.Stopping = stopping(q, r, rec.ID())
		return q.PageStatus(status, "change-delete.html", d.Title, d)
	}
	if err != nil {
		return err
	}
	if d.Effects, err = effects(q, d.Changes, func(id string) bool { return id == rec.ID() }); err != nil {
		return err
	}
	return q.PageStatus(status, "change-delete.html", d.Title, d)
}

// stopping returns the lists of the records whose references restrict the deletion of a record.
func stopping(q *site.Request, r *records.Resource, id string) (all []site.Link) {
	for _, ref := range r.Referrers() {
		if ref.Field.Ref.Restrict && q.May(ref.From.Name, records.RouteList) {
			label := "The " + site.Plural(ref.From) + " that refer to it"
			all = append(all, site.Link{Label: label, URL: q.ListURL(ref.From.Name) + "?" + url.Values{ref.Field.Name: {id}}.Encode()})
		}
	}
	return slices.Clip(all)
}

// remove deletes a record, on the condition that it has the version that the page has shown.
func remove(q *site.Request) error {
	r, err := target(q, records.RouteDelete, "delete")
	if err != nil {
		return err
	}
	if err := checkForm(q); err != nil {
		return err
	}
	_, err = q.Do(&site.Call{Method: http.MethodDelete, Path: pathOf(r, q.R.PathValue("id")), Match: q.R.PostForm.Get("_match")}, nil)
	fault, refused := site.Refused(err)
	switch {
	case refused && fault.Status == http.StatusPreconditionFailed:
		return askDelete(q, fault.Status, "The "+r.Noun()+" has been changed since this page was opened. Check what is shown now, and delete it again if you still want to.")
	case refused && fault.Status != http.StatusNotFound:
		return askDelete(q, fault.Status, fault.Message)
	case err != nil:
		return err
	}
	return q.Redirect("/r/" + r.Name + "?done=deleted")
}
