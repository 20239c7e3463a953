package change

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// A reference is written as the name of a record: "sw1". Where the name says little without the record that it
// belongs to, both are written: "eth0 @ sw1". People may write both for any record that has a parent.

// at separates the name of a record from that of its parent.
const at = " @ "

// maxPicked is the maximum number of records that are suggested.
const maxPicked = 20

// choice is a record that a reference may name.
type choice struct {
	ID, Text, Detail string
	label, parent    string
}

// parentOf returns the reference of the natural key of a resource, such as that of an interface to its device,
// or nil.
func parentOf(r *records.Resource) *records.Field {
	for _, key := range r.Keys {
		for _, name := range key {
			if f, ok := r.Field(name); ok && f.Ref != nil {
				return f
			}
		}
	}
	return nil
}

// describe returns the choices for records.
func describe(q *site.Request, r *records.Resource, recs []site.Record) ([]choice, error) {
	parent := parentOf(r)
	var fields []*records.Field
	if parent != nil {
		fields = append(fields, parent)
	}
	labels, err := q.RefLabels(fields, recs)
	if err != nil {
		return nil, err
	}
	all := make([]choice, len(recs))
	for i, rec := range recs {
		c := choice{ID: rec.ID(), label: site.Label(r, rec)}
		c.Text = c.label
		var about []string
		if parent != nil {
			c.parent = labels[rec.Text(parent.Name)]
			switch {
			case c.parent == "":
			case parent.Required:
				c.Text += at + c.parent
			default:
				about = append(about, c.parent)
			}
		}
		c.Detail = strings.Join(append(about, details(r, rec, c.label)...), " · ")
		all[i] = c
	}
	return all, nil
}

// details returns up to two further values by which people know a record.
func details(r *records.Resource, rec site.Record, label string) (all []string) {
	for _, f := range r.Fields() {
		v := rec.Text(f.Name)
		if f.Search && f.Kind == records.Text && f.Format != "text" && v != "" && v != label && len(all) < 2 && len(v) <= 40 {
			all = append(all, v)
		}
	}
	return all
}

// namesOf returns what records are called, by id. ids are by resource.
func namesOf(q *site.Request, ids map[string][]string) (map[string]string, error) {
	all := map[string]string{}
	for resource, wanted := range ids {
		recs, err := q.ByIDs(resource, wanted)
		if err != nil {
			return nil, err
		}
		r, ok := q.Schema.Named(resource)
		if !ok {
			continue
		}
		choices, err := describe(q, r, recs)
		if err != nil {
			return nil, err
		}
		for _, c := range choices {
			all[c.ID] = c.Text
		}
	}
	return all, nil
}

// pick suggests records of a resource for what has been typed into the field of a reference.
func pick(q *site.Request) error {
	query := q.R.URL.Query()
	r, ok := q.Schema.Named(query.Get("resource"))
	if !ok || r.Internal {
		return httpx.Errorf(http.StatusNotFound, "There is no such resource")
	}
	if !q.May(r.Name, records.RouteList) {
		return httpx.Errorf(http.StatusForbidden, "Your role may not see %s", site.Plural(r))
	}
	s := &search{q: q, resource: r, near: query.Get("near"), at: query.Get("at"), most: maxPicked}
	if err := s.find(strings.TrimSpace(query.Get("q"))); err != nil {
		return err
	}
	found, err := describe(q, r, s.found)
	if err != nil {
		return err
	}
	return q.Part("change-form.html", "change-options", map[string]any{"Choices": found, "Field": query.Get("field"), "Resource": r})
}

// search finds records by a part of their name, or of that of their parent.
type search struct {
	q        *site.Request
	resource *records.Resource
	near     string // the ids of locations, separated by commas, whose records come first; empty for none
	at       string // the location of the form: records at it or within it come first of all; empty for none
	most     int    // records
	found    []site.Record
}

// list adds the records of a query, those of the location first and then those near, unless the API refuses the query: a part
// of an address is none, for instance.
func (s *search) list(query url.Values) error {
	_, placed := s.resource.Field("location_id")
	for _, first := range [][2]string{{"below", s.at}, {"location_id__in", s.near}} {
		if !placed || first[1] == "" {
			continue
		}
		near := maps.Clone(query)
		near.Set(first[0], first[1])
		if err := s.add(near); err != nil {
			return err
		}
	}
	return s.add(query)
}

// add adds the records of a query.
func (s *search) add(query url.Values) error {
	s.most = cmp.Or(s.most, maxPicked)
	if len(s.found) >= s.most {
		return nil
	}
	page, err := s.q.Some(s.resource.Name, s.most, query)
	if _, refused := site.AsFault(err, http.StatusBadRequest); refused {
		return nil
	}
	if err != nil {
		return err
	}
	for _, rec := range page.Data {
		known := slices.ContainsFunc(s.found, func(other site.Record) bool { return other.ID() == rec.ID() })
		if !known && len(s.found) < s.most {
			s.found = append(s.found, rec)
		}
	}
	return nil
}

// find looks for names that begin with the text, then for numbers, for children of records with the name, and
// for other texts that contain it.
func (s *search) find(text string) error {
	label := site.LabelField(s.resource)
	query := url.Values{}
	if label != nil && label.Index && label.Sortable() {
		query.Set("sortby", label.Name+":asc")
	}
	if f := site.NumberField(s.resource); f != nil {
		query.Set("sortby", f.Name+":asc")
	}
	if text == "" {
		return s.list(query)
	}
	if label != nil {
		query.Set(label.Name+"__startswith", text)
		if err := s.list(query); err != nil {
			return err
		}
	}
	first, rest, _ := strings.Cut(text, " ")
	for _, f := range s.resource.ShortKeys() {
		if f.Kind != records.Int || !number.MatchString(first) {
			continue
		}
		query := url.Values{f.Name: {first}}
		if rest = strings.TrimSpace(rest); rest != "" && label != nil && label != f {
			query.Set(label.Name+"__startswith", rest)
		}
		if err := s.list(query); err != nil {
			return err
		}
	}
	if err := s.children(text); err != nil {
		return err
	}
	return s.list(url.Values{"q": {text}})
}

// maxParents is the maximum number of parents whose records are suggested.
const maxParents = 5

// children finds records of a parent that a word of the text names: "sw1", "sw1 eth0" and "eth0 @ sw1" find
// interfaces.
func (s *search) children(text string) error {
	f, label := parentOf(s.resource), site.LabelField(s.resource)
	if f == nil || !f.Required || label == nil || !s.q.May(f.Ref.To, records.RouteList) {
		return nil
	}
	first, rest, several := strings.Cut(text, " ")
	ways := [][2]string{{first, rest}}
	if several {
		last := strings.LastIndex(text, " ")
		ways = append(ways, [2]string{text[last+1:], strings.TrimSuffix(strings.TrimSpace(text[:last]), " @")})
	}
	for _, way := range ways {
		parents := &search{q: s.q, resource: f.Ref.Resource()}
		name := site.LabelField(parents.resource)
		if name == nil || len(s.found) >= maxPicked {
			continue
		}
		if err := parents.list(url.Values{name.Name + "__startswith": {way[0]}}); err != nil {
			return err
		}
		ids := site.IDs(parents.found[:min(len(parents.found), maxParents)])
		if len(ids) == 0 {
			continue
		}
		query := url.Values{f.Name + "__in": {strings.Join(ids, ",")}}
		if part := strings.TrimSpace(way[1]); part != "" {
			query.Set(label.Name+"__startswith", part)
		}
		if err := s.list(query); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the record that a text names. fault says why there is none.
func resolve(q *site.Request, resource, text string) (found choice, fault string, err error) {
	r, ok := q.Schema.Named(resource)
	if text = strings.TrimSpace(text); records.ValidID(text) || !ok || !q.May(resource, records.RouteList) {
		return choice{ID: text, Text: text}, "", nil // the API says whether it exists
	}
	all, err := exact(q, r, text, nil)
	if i, f := strings.LastIndex(text, at), parentOf(r); err == nil && len(all) == 0 && i >= 0 && f != nil {
		of, fault, err := resolve(q, f.Ref.To, text[i+len(at):])
		if err != nil || fault != "" {
			return choice{}, fault, err
		}
		if all, err = exact(q, r, text[:i], url.Values{f.Name: {of.ID}}); err != nil {
			return choice{}, "", err
		}
	}
	if err == nil && len(all) == 0 {
		all, err = called(q, r, text)
	}
	switch {
	case err != nil:
		return choice{}, "", err
	case len(all) == 1:
		return all[0], "", nil
	case len(all) == 0:
		return choice{}, fmt.Sprintf("no %s is called %q", r.Noun(), text), nil
	}
	return choice{}, ambiguous(r, text, all), nil
}

// ambiguous says that several records have a name, and how to write which one.
func ambiguous(r *records.Resource, text string, all []choice) string {
	var examples []string
	for _, c := range all {
		example := c.ID
		if c.parent != "" {
			example = c.label + at + c.parent
		}
		if len(examples) < 2 && !slices.Contains(examples, example) {
			examples = append(examples, example)
		}
	}
	return fmt.Sprintf("several %s are called %q: choose one of the list, or write %s", site.Plural(r), text, strings.Join(examples, " or "))
}

// exact returns the records whose name, number or other short natural key is a text.
func exact(q *site.Request, r *records.Resource, text string, with url.Values) ([]choice, error) {
	for _, f := range r.ShortKeys() {
		s := &search{q: q, resource: r}
		query := url.Values{f.Name: {text}}
		maps.Copy(query, with)
		if err := s.list(query); err != nil {
			return nil, err
		}
		if len(s.found) > 0 {
			return describe(q, r, s.found)
		}
	}
	return nil, nil
}

// called returns the records that are called by a text, as suggestions write it.
func called(q *site.Request, r *records.Resource, text string) ([]choice, error) {
	s := &search{q: q, resource: r}
	if err := s.find(text); err != nil {
		return nil, err
	}
	all, err := describe(q, r, s.found)
	return slices.DeleteFunc(all, func(c choice) bool {
		return !strings.EqualFold(c.Text, text) && !strings.EqualFold(c.label, text) && !strings.EqualFold(c.label+at+c.parent, text)
	}), err
}
