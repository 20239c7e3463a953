package change

import (
	"encoding/json"
	"maps"
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

// set is the list of a form that stands for records of another resource (site.Set). They are changed in the transaction of the
// records of the form: those to remove before, those to add after.
type set struct {
	*site.Set
	input  *input
	to     *records.Resource
	ids    map[string]string // of the connections, by the ids of the two records
	create []map[string]any
	remove []string
}

// addSet adds the set of the resource, if it has one that the sender may change.
func (f *form) addSet() {
	s, q := f.q.Edits[f.Resource.Name].Set, f.q
	if s == nil || !q.MaySee(s.Through) || !q.May(s.Through, records.RouteCreate) || !q.May(s.Through, records.RouteDeleteMany) {
		return
	}
	through, _ := q.Schema.Named(s.Through)
	if to, ok := through.Field(s.To); ok && q.MaySee(to.Ref.To) {
		in := &input{Field: &records.Field{Name: s.Name, Label: s.Label, Kind: records.List}, Control: "checks", Wide: true, Hint: s.Hint}
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
	delete(byID, "") // a new record has none
	for ids := range slices.Chunk(slices.Collect(maps.Keys(byID)), records.MaxLimit) {
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
	had, name, of := elements(stored(s.input.Field, rec[s.Name]), ""), s.Of, any(rec.ID())
	if of == "" {
		through, _ := f.q.Schema.Named(s.Through)
		field, _ := through.Field(s.Of)
		name, of = field.Member, f.key(change)
	}
	for _, id := range wanted {
		if !slices.Contains(had, id) {
			s.create = append(s.create, map[string]any{name: of, s.To: id})
		}
	}
	for _, id := range had {
		if !slices.Contains(wanted, id) {
			s.remove = append(s.remove, s.ids[rec.ID()+id])
		}
	}
	return wanted, why
}

// key returns the natural key of a new record.
func (f *form) key(values map[string]any) map[string]any {
	key := map[string]any{}
	for _, name := range f.Resource.Keys[0] {
		if field, _ := f.Resource.Field(name); field.Ref != nil {
			key[field.Member] = map[string]any{"id": values[name]}
		} else {
			key[name] = values[name]
		}
	}
	return key
}

// together returns a bulk request, or that of a transaction in which the set of its records becomes what it shall be, and the position of
// the records in its results.
func (f *form) together(call *site.Call) (whole *site.Call, at int) {
	if f.set == nil || len(f.set.remove)+len(f.set.create) == 0 {
		return call, -1
	}
	var parts []map[string]any
	add := func(method, resource string, items any) {
		parts = append(parts, map[string]any{"method": method, "resource": resource, "items": items})
	}
	for some := range slices.Chunk(f.set.remove, records.MaxItems) {
		add(http.MethodDelete, f.set.Through, some)
	}
	at = len(parts)
	add(call.Method, f.Resource.Name, call.Body)
	for some := range slices.Chunk(f.set.create, records.MaxItems) {
		add(http.MethodPost, f.set.Through, some)
	}
	return &site.Call{Method: http.MethodPost, Path: "/transaction", Body: parts, Key: call.Key}, at
}

// change sends a bulk request, together with what changes the set, and returns the records.
func (f *form) change(call *site.Call) ([]site.Record, error) {
	var sent, done struct{ Results []json.RawMessage }
	whole, at := f.together(call)
	if _, err := f.q.Do(whole, &sent); err != nil {
		return nil, err
	}
	if done = sent; at >= 0 {
		if err := json.Unmarshal(sent.Results[at], &done); err != nil {
			return nil, err
		}
	}
	recs := make([]site.Record, len(done.Results))
	for i, text := range done.Results {
		if err := json.Unmarshal(text, &recs[i]); err != nil {
			return nil, err
		}
	}
	return recs, nil
}

// changeOne is change for one record, whose fault is that of a request for it.
func (f *form) changeOne(call *site.Call, body map[string]any) (rec site.Record, err error) {
	call.Body = []any{body}
	recs, err := f.change(call)
	if fault, ok := site.Refused(err); ok && len(fault.Items) > 0 {
		err = &site.Fault{Status: fault.Status, Message: fault.Items[0].Message, Fields: fault.Items[0].Errors}
	}
	if err != nil {
		return nil, err
	}
	return recs[0], nil
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
