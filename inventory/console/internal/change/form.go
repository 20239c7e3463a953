package change

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// form is the data of the page of a form.
type form struct {
	q        *site.Request
	Resource *records.Resource
	Inputs   []*input
	set      *set // nil for none
	Groups   []group
	Crumbs   []site.Link

	ID      string // of the record; empty for a new one
	Match   string // the version that the form was made from
	Key     string // of a new record: what is sent twice creates one record
	Prefill string // the query of the form, for another one
	Title   string
	Verb    string // of a new record; empty is to create it
	Action  string // the path that the form is sent to
	Cancel  string
	Problem string // why nothing was saved
	Fixed   []fixed
}

// fixed is a value that can't be changed.
type fixed struct{ Label, Value string }

// newForm returns an empty form.
func newForm(q *site.Request, r *records.Resource, id string) *form {
	f := &form{q: q, Resource: r, ID: id, Crumbs: []site.Link{{Label: site.Title(r), URL: q.ListURL(r.Name)}}}
	for _, field := range fieldsOf(q, r, id == "") {
		f.Inputs = append(f.Inputs, newInput(q, r, field, id == ""))
	}
	f.addSet()
	f.arrange()
	return f
}

// edit returns what features say of the form.
func (f *form) edit() site.Edit { return f.q.Edits[f.Resource.Name] }

// arrange sets the groups of the inputs. What fills others is the first one of a new record.
func (f *form) arrange() {
	f.Groups = groups(f.Resource, f.Inputs)
	first := f.input(f.edit().First)
	if f.ID != "" || first == nil || first.Control != "pick" {
		return
	}
	first.Fills = "/r/" + f.Resource.Name + "/new"
	for i := range f.Groups {
		f.Groups[i].Inputs = slices.DeleteFunc(f.Groups[i].Inputs, func(in *input) bool { return in == first })
	}
	f.Groups[0].Inputs = slices.Insert(f.Groups[0].Inputs, 0, first)
}

// drop removes the fields that a newer one has replaced in a record.
func (f *form) drop(rec site.Record) {
	f.Inputs = slices.DeleteFunc(f.Inputs, func(in *input) bool {
		by := f.edit().Replaced[in.Name]
		return by != "" && (rec.Text(in.Name) == "" || rec.Text(by) != "")
	})
	f.arrange()
}

// Faults returns the inputs with something wrong.
func (f *form) Faults() []*input {
	return slices.DeleteFunc(slices.Clone(f.Inputs), func(in *input) bool { return in.Fault == "" })
}

// Needs reports whether a value is required.
func (f *form) Needs() bool {
	return slices.ContainsFunc(f.Inputs, func(in *input) bool { return in.Must })
}

// input returns the input of a field, nil if there is none.
func (f *form) input(name string) *input {
	i := slices.IndexFunc(f.Inputs, func(in *input) bool { return in.Name == name })
	if i < 0 {
		return nil
	}
	return f.Inputs[i]
}

// fill sets the inputs to the values of a record.
func (f *form) fill(rec site.Record) error {
	for _, in := range f.Inputs {
		value := rec[in.Name]
		if edit := f.q.Edits[f.Resource.Name]; edit.Instead != nil {
			value = edit.Value(rec, in.Name)
		}
		if !in.WriteOnly {
			in.Was = stored(in.Field, value)
		}
		in.set(in.Was)
	}
	return f.name()
}

// set sets the value of an input to a stored one.
func (in *input) set(value string) {
	in.Value = shown(in.Field, value)
	if in.Ref != nil {
		in.ID, in.Chosen = value, value
	}
}

// name replaces the ids of records by what they are called.
func (f *form) name() error {
	ids := map[string][]string{}
	for _, in := range f.Inputs {
		switch {
		case in.Ref != nil && in.ID != "" && in.Value == in.ID:
			ids[in.To] = append(ids[in.To], in.ID)
		case in.To != "" && in.Ref == nil:
			ids[in.To] = append(ids[in.To], elements(in.Value, "")...)
		}
	}
	names, err := namesOf(f.q, ids)
	if err != nil {
		return err
	}
	for _, in := range f.Inputs {
		switch {
		case in.Ref != nil && in.Value == in.ID && names[in.ID] != "":
			in.Value, in.Chosen = names[in.ID], names[in.ID]
		case in.To != "" && in.Ref == nil:
			in.Options = nil
			for _, id := range elements(in.Value, "") {
				if records.ValidID(id) {
					in.Options = append(in.Options, option{id, cmp.Or(names[id], "not visible to you")})
				} else {
					in.Typed = id
				}
			}
		}
	}
	return nil
}

// read sets the inputs to what was typed.
func (f *form) read(values url.Values) {
	f.Match, f.Key, f.Prefill = values.Get("_match"), values.Get("_key"), values.Get("_prefill")
	for _, in := range f.Inputs {
		typed := values[in.Name]
		if in.absent = len(typed) == 0; in.absent {
			continue
		}
		in.Value = clean(in.Field, typed[len(typed)-1]) // a checkbox has "false" in front
		switch in.Control {
		case "picks":
			in.Value = strings.Join(elements(strings.Join(typed, "\n"), ""), "\n")
		case "checks":
			in.Value = strings.Join(slices.Sorted(slices.Values(elements(strings.Join(typed, "\n"), ""))), "\n")
		}
		in.Was = clean(in.Field, values.Get("was."+in.Name))
		in.Base = in.Was
		if values.Has("base." + in.Name) {
			in.Base = clean(in.Field, values.Get("base."+in.Name))
		}
		if in.Ref != nil {
			in.ID, in.Chosen = values.Get(in.Name+".id"), strings.TrimSpace(values.Get(in.Name+".label"))
		}
	}
}

// resolve finds the records that references name. The error is one of the API; names that fit no record, or
// several, are faults of their inputs.
func (f *form) resolve(inputs []*input) error {
	for _, in := range inputs {
		switch {
		case in.Ref != nil && in.Value == "":
			in.ID, in.Chosen = "", ""
		case in.Ref != nil && (in.Value != in.Chosen || in.ID == ""):
			found, fault, err := resolve(f.q, in.To, in.Value)
			if err != nil {
				return err
			}
			if in.Fault = fault; fault == "" {
				in.ID, in.Chosen, in.Value = found.ID, found.Text, found.Text
			}
		case in.Ref == nil && in.To != "":
			if err := in.resolveAll(f.q); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolveAll finds the records that an input names.
func (in *input) resolveAll(q *site.Request) error {
	lines := elements(in.Value, "")
	for i, line := range lines {
		found, fault, err := resolve(q, in.To, line)
		if err != nil {
			return err
		}
		if fault != "" {
			in.Fault = fault
			return nil
		}
		lines[i] = found.ID
	}
	in.Value = strings.Join(lines, "\n")
	return nil
}

// typed returns the value of an input to compare with a stored one.
func (in *input) typed() string {
	if in.Ref != nil {
		return in.ID
	}
	return in.Value
}

// changed reports whether the user has changed the value.
func (in *input) changed() bool { return !in.absent && !same(in.Field, in.typed(), in.Was) }

// body returns what the API gets: of a new record what has a value, of others what the user has changed.
func (f *form) body() map[string]any {
	body := map[string]any{}
	for _, in := range f.Inputs {
		switch typed := in.typed(); {
		case in.absent, typed == "" && (f.ID == "" || in.WriteOnly):
		case f.ID == "" || in.changed():
			body[in.Name] = encode(in.Field, typed, in.Was)
		}
	}
	return body
}

// refuse puts the messages of the API at the inputs.
func (f *form) refuse(fault *site.Fault) {
	f.Problem = fault.Message
	placed := 0
	for _, wrong := range fault.Fields {
		name, _, _ := strings.Cut(wrong.Field, "[")
		if in := f.input(name); in != nil {
			if in.Fault != "" {
				in.Fault += "; "
			}
			in.Fault += wrong.Reason
			placed++
		}
	}
	if placed > 0 && placed == len(fault.Fields) && (fault.Status == http.StatusConflict || strings.HasPrefix(fault.Message, "Invalid "+f.Resource.Noun())) {
		f.Problem = "" // it repeats the messages at the fields
	}
}

// problem is the title of the summary of what is wrong.
func (f *form) problem() {
	if f.Problem == "" {
		f.Problem = "Nothing was saved: correct the marked fields"
		if len(f.Faults()) == 1 {
			f.Problem = "Nothing was saved: correct the marked field"
		}
	}
}

// page responds with the form. The first wrong input has the focus, otherwise the first one.
func (f *form) page(status int, template string) error {
	for _, in := range f.Inputs {
		if in.WriteOnly {
			if in.Value != "" && in.Fault == "" && status >= http.StatusBadRequest {
				in.Fault = "must be entered again: nothing was saved"
			}
			in.Value = ""
		}
	}
	switch wrong := f.Faults(); {
	case len(wrong) > 0:
		wrong[0].Focus = true
	case len(f.Groups) > 0 && f.Problem == "":
		f.Groups[0].Inputs[0].Focus = true
	}
	if status >= http.StatusBadRequest {
		f.problem()
	}
	if f.Key == "" && f.ID == "" {
		f.Key = rand.Text()
	}
	if err := f.suggest(); err != nil {
		return err
	}
	return f.q.PageStatus(status, template, f.Title, f)
}

// The bounds of the values of other records that inputs suggest.
const (
	maxExamples      = 40
	maxSummaryFields = 5 // of one request to the API
)

// suggest adds the values of other records to inputs for texts with few values.
func (f *form) suggest() error {
	var fields []string
	for _, in := range f.Inputs {
		if in.Control == "input" && in.Kind == records.Text && in.Counted {
			fields = append(fields, in.Name)
		}
	}
	for some := range slices.Chunk(fields, maxSummaryFields) {
		counts, err := f.q.Summary(f.Resource.Name, some...)
		if _, refused := site.Refused(err); refused {
			return nil // the form works without
		}
		if err != nil {
			return err
		}
		for _, name := range some {
			delete(counts.By[name], "")
			values := site.Frequent(counts.By[name])
			f.input(name).Examples = slices.Sorted(slices.Values(values[:min(len(values), maxExamples)]))
		}
	}
	return nil
}
