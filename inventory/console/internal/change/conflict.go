package change

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/site"
)

// conflict is the data of the page of a form whose record has been changed since it was opened.
type conflict struct {
	*form
	Rows   []*conflictRow
	Hidden []*input // all inputs, as the user has typed them
	Secret []*input // which pages do not show: the user types them again
	Since  string   // when the record was changed last
	Open   int      // the number of rows that need a choice
}

// conflictRow is a field that was changed, by the user or by somebody else.
type conflictRow struct {
	*input
	Before, Now, Mine string // for people
	Take              string // the chosen value: mine, theirs or none yet
	By, When          string // who has changed it, if the user may know
	Both              bool   // both have changed it, to different values
}

// choose applies the choices of a conflict: "theirs" is the stored value that the page has shown. It reports
// whether every conflict has a choice.
func (f *form) choose(values url.Values) bool {
	complete := true
	for _, in := range f.Inputs {
		if in.absent || !values.Has("base."+in.Name) {
			continue
		}
		mine := in.changed() && !same(in.Field, in.typed(), in.Base)
		switch take := values.Get("take." + in.Name); {
		case take == "theirs", take == "" && !mine:
			in.set(in.Was)
		case take == "" && !same(in.Field, in.Was, in.Base):
			complete = false
		}
	}
	for _, in := range f.Inputs {
		if complete {
			in.Base = in.Was // the user has seen the stored value
		}
	}
	return complete
}

// conflict shows the values of the form when it was opened, those that are stored now, and those that the user
// has typed.
func (f *form) conflict(status int) error {
	rec, match, err := f.q.One(f.Resource.Name, f.ID)
	if err != nil {
		return err
	}
	f.entitle(rec)
	now := newForm(f.q, f.Resource, f.ID)
	if err := now.fill(rec); err != nil {
		return err
	}
	c := &conflict{form: f, Since: rec.Text("updated_at")}
	ids := map[string][]string{}
	for _, in := range f.Inputs {
		if in.To != "" {
			ids[in.To] = append(ids[in.To], elements(strings.Join([]string{in.Base, in.typed(), now.input(in.Name).Was}, "\n"), "")...)
		}
	}
	names, err := namesOf(f.q, ids)
	if err != nil {
		return err
	}
	authors := f.authors()
	taken := f.q.R.PostForm
	for _, in := range f.Inputs {
		if in.WriteOnly && in.Value != "" {
			in.Value, in.Hint = "", "Enter it again."
			c.Secret = append(c.Secret, in)
		}
		if in.absent || in.WriteOnly {
			continue
		}
		row := in.compare(now.input(in.Name).Was, names)
		in.Was = now.input(in.Name).Was
		c.Hidden = append(c.Hidden, in)
		if row == nil {
			continue
		}
		row.By, row.When = authors[in.Name].by, authors[in.Name].when
		if status == http.StatusUnprocessableEntity && taken.Has("take."+in.Name) {
			row.Take = taken.Get("take." + in.Name)
		}
		if row.Take == "" {
			c.Open++
		}
		c.Rows = append(c.Rows, row)
	}
	f.Match, f.Title = match, "Changed meanwhile: "+site.Label(f.Resource, rec)
	return f.q.PageStatus(status, "change-conflict.html", f.Title, c)
}

// compare returns the row of an input, nil if nobody has changed it.
func (in *input) compare(now string, names map[string]string) *conflictRow {
	theirs, mine := !same(in.Field, now, in.Base), !same(in.Field, in.typed(), in.Base)
	if !theirs && !mine {
		return nil
	}
	row := &conflictRow{input: in, Before: in.show(in.Base, names), Now: in.show(now, names), Mine: in.show(in.typed(), names)}
	switch {
	case !mine, same(in.Field, in.typed(), now):
		row.Take = "theirs"
	case !theirs:
		row.Take = "mine"
	default:
		row.Both = true
	}
	return row
}

// author names the last author of a field, and the time.
type author struct{ by, when string }

// authors returns who has changed the fields of the record, by the last entries of the audit log, if the user
// may read it.
func (f *form) authors() map[string]author {
	all := map[string]author{}
	if !f.q.MaySee(f.q.AuditLog()) {
		return all
	}
	page, err := f.q.Some(f.q.AuditLog(), 50, url.Values{"resource_id": {f.ID}})
	if err != nil {
		return all // the page is complete without
	}
	for _, entry := range page.Data {
		changes, _ := entry["changes"].(map[string]any)
		for name := range changes {
			if _, known := all[name]; !known {
				all[name] = author{entry.Text("actor"), entry.Text("created_at")}
			}
		}
	}
	return all
}
