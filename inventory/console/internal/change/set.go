package change

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of the set of a form.
const (
	maxConnections = 10_000 // of 100 records
	maxChoices     = 100
)

// set is the list of a form that stands for records of another resource (site.Set). They are changed after the records of the
// form, whose change may be what allows them.
type set struct {
	*site.Set
	input  *input
	to     *records.Resource
	ids    map[string]string // of the connections, by the ids of the two records
	create []map[string]string
	remove []string
}

// addSet adds the set of the resource, if it has one that the sender may change.
func (f *form) addSet() {
	s, q := f.q.Edits[f.Resource.Name].Set, f.q
	if s == nil || f.ID == "" || !q.MaySee(s.Through) || !q.May(s.Through, records.RouteCreate) || !q.May(s.Through, records.RouteDeleteMany) {
		return
	}
	through, _ := q.Schema.Named(s.Through)
	if to, ok := through.Field(s.To); ok && q.MaySee(to.Ref.To) {
		in := &input{Field: &records.Field{Name: s.Name, Label: s.Label, Kind: records.List}, Control: "checks", Wide: true}
		f.set, f.Inputs = &set{Set: s, input: in, to: to.Ref.Resource(), ids: map[string]string{}}, append(f.Inputs, in)
	}
}

// prepare adds to records what their set has, and to the form the choices near to the first of them.
func (f *form) prepare(recs ...site.Record) error {
	near, around := f.q.Edits[f.Resource.Name].Near, []string(nil)
	if near != nil && len(recs) > 0 {
		place, err := near(f.q, recs[0])
		if err != nil {
			return err
		}
		if around, err = f.q.Around(place); err != nil {
			return err
		}
	}
	for _, in := range f.Inputs {
		in.Near = strings.Join(around, ",")
	}
	if f.set == nil {
		return nil
	}
	if err := f.set.load(f.q, recs); err != nil {
		return err
	}
	return f.set.choices(f.q, recs)
}

// load reads the connections of records.
func (s *set) load(q *site.Request, recs []site.Record) error {
	byID := map[string]site.Record{}
	for _, rec := range recs {
		byID[rec.ID()], rec[s.Name] = rec, []any{}
	}
	for ids := range slices.Chunk(site.IDs(recs), records.MaxLimit) {
		all, err := q.All(s.Through, url.Values{s.Of + "__in": {strings.Join(ids, ",")}, "sortby": {s.To + ":asc"}}, maxConnections)
		if err != nil {
			return err
		}
		for _, c := range all {
			rec := byID[c.Text(s.Of)]
			list, _ := rec[s.Name].([]any)
			rec[s.Name], s.ids[rec.ID()+c.Text(s.To)] = append(list, c.Text(s.To)), c.ID()
		}
	}
	return nil
}

// choices offers the records near to those of the form, and those that they have.
func (s *set) choices(q *site.Request, recs []site.Record) error {
	find := &search{q: q, resource: s.to, near: s.input.Near, most: maxChoices}
	if err := find.find(""); err != nil {
		return err
	}
	var had []string
	for _, rec := range recs {
		had = append(had, elements(stored(s.input.Field, rec[s.Name]), "")...)
	}
	chosen, err := q.ByIDs(s.to.Name, had)
	if err != nil {
		return err
	}
	all := append(find.found, chosen...)
	named, err := describe(q, s.to, all)
	for i, c := range named {
		label := c.Text
		if at := all[i].Text("location_id"); at == "" || !strings.Contains(s.input.Near, at) {
			label = strings.TrimSpace(label + " " + c.parent)
		}
		if !slices.ContainsFunc(s.input.Options, func(o option) bool { return o.Value == c.ID }) {
			s.input.Options = append(s.input.Options, option{c.ID, label})
		}
	}
	return err
}

// Has reports whether the list of an input has a value.
func (in *input) Has(value string) bool { return slices.Contains(strings.Split(in.Value, "\n"), value) }

// complete adds to a change of a record what follows from it, and leaves the members of the set for connect. It returns the
// list that the set shall have, nil for that of now, and why the change does not fit.
func (f *form) complete(rec site.Record, change map[string]any) (wanted []string, why string) {
	if f.q.Edits[f.Resource.Name].Complete != nil {
		why = f.q.Edits[f.Resource.Name].Complete(rec, change)
	}
	if f.set == nil {
		return nil, why
	}
	s := f.set
	wanted, ok := change[s.Name].([]string)
	if delete(change, s.Name); !ok {
		return nil, why
	}
	had := elements(stored(s.input.Field, rec[s.Name]), "")
	for _, id := range wanted {
		if !slices.Contains(had, id) {
			s.create = append(s.create, map[string]string{s.Of: rec.ID(), s.To: id})
		}
	}
	for _, id := range had {
		if !slices.Contains(wanted, id) {
			s.remove = append(s.remove, s.ids[rec.ID()+id])
		}
	}
	return wanted, why
}

// connect makes the set of the records what it shall be. A refusal says that the rest is saved.
func (f *form) connect() error {
	if f.set == nil {
		return nil
	}
	send := func(method string, body any) error {
		_, err := f.q.Do(&site.Call{Method: method, Path: "/" + f.set.Through, Body: body}, nil)
		if fault, ok := site.Refused(err); ok {
			return &site.Fault{Status: fault.Status, Message: "The rest was saved, but not all " + f.set.Label + ": " + fault.Error()}
		}
		return err
	}
	for some := range slices.Chunk(f.set.remove, records.MaxItems) {
		if err := send(http.MethodDelete, some); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(f.set.create, records.MaxItems) {
		if err := send(http.MethodPost, some); err != nil {
			return err
		}
	}
	return nil
}

// diff returns the change of the set of a record.
func (s *set) diff(rec site.Record, wanted []string) site.Diff {
	names := func(ids []string) string {
		var all []string
		for _, o := range s.input.Options {
			if slices.Contains(ids, o.Value) {
				all = append(all, o.Label)
			}
		}
		return strings.Join(all, ", ")
	}
	return site.Diff{Field: s.Label, Before: names(elements(stored(s.input.Field, rec[s.Name]), "")), After: names(wanted)}
}
