package imports

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

const (
	maxQuestions  = 50  // names that a page asks about
	maxCandidates = 200 // records that a name may mean
)

// none is the choice for a name that stands for no record.
const none = "-"

// question asks which record a name means that several records have, or none. It is asked once for all rows.
type question struct {
	Of       string // the field and the natural key, for the form
	Column   string
	Value    string
	Noun     string // of the records
	Several  bool   // whether several have the name
	Required bool
	Answer   string // the id of the record, none, or empty
	Choices  []site.Choice
}

// answers are the ids of the records that names mean, by field and natural key.
type answers map[string]map[string]string

// readAnswers returns the answers of a form.
func readAnswers(f *site.Form) answers {
	all := answers{}
	for i := range maxQuestions {
		field, key, ok := strings.Cut(f.Get("name."+strconv.Itoa(i)), " ")
		id := f.Get("is." + strconv.Itoa(i))
		if !ok || id == "" {
			continue
		}
		if all[field] == nil {
			all[field] = map[string]string{}
		}
		all[field][key] = strings.TrimPrefix(id, none)
	}
	return all
}

// ask sets the questions: those that are answered, and those about the problems of a report.
func (p *importPage) ask(q *site.Request, problems []importer.Problem) error {
	if p.Resource == nil {
		return nil
	}
	var all []importer.Problem
	for field, keys := range p.names {
		for key := range keys {
			all = append(all, importer.Problem{Field: field, Key: key})
		}
	}
	slices.SortFunc(all, func(a, b importer.Problem) int { return cmp.Compare(a.Field+a.Key, b.Field+b.Key) })
	seen := map[string]bool{}
	for _, w := range append(all, problems...) {
		of := w.Field + " " + w.Key
		ref, ok := p.Resource.Field(w.Field)
		if w.Key == "" || !ok || ref.Ref == nil || seen[of] || len(p.Questions) == maxQuestions || !q.May(ref.Ref.To, records.RouteList) {
			continue
		}
		seen[of] = true
		ask := &question{Of: of, Column: cmp.Or(w.Column, site.FieldLabel(ref)), Noun: ref.Ref.Resource().Noun(), Required: ref.Required}
		if id, ok := p.names[w.Field][w.Key]; ok {
			ask.Answer = cmp.Or(id, none)
		}
		if err := ask.find(q, ref.Ref.Resource(), w.Key); err != nil {
			return err
		}
		if len(ask.Choices) > 0 {
			p.Questions = append(p.Questions, ask)
		}
	}
	return nil
}

// find sets the records that a name may mean: those that have it, or else all if they are few.
func (a *question) find(q *site.Request, r *records.Resource, key string) error {
	name := site.LabelField(r)
	var parts map[string]any
	if json.Unmarshal([]byte(key), &a.Value) != nil && json.Unmarshal([]byte(key), &parts) == nil && name != nil {
		a.Value = site.Text(parts[name.Name])
	}
	var found *site.Page
	for _, f := range append(r.ShortKeys(), name) {
		if f == nil || a.Value == "" || a.Several {
			continue
		}
		page, err := q.Some(r.Name, maxCandidates, url.Values{f.Name: {a.Value}})
		if fault, ok := site.AsFault(err); ok && fault.Status == 400 { // no value of this field
			continue
		} else if err != nil {
			return err
		}
		found, a.Several = page, len(page.Data) > 0
	}
	if !a.Several {
		page, err := q.Some(r.Name, maxCandidates, url.Values{})
		if err != nil {
			return err
		}
		if found = page; page.Meta.NextCursor != "" {
			return nil
		}
	}
	var refs []*records.Field
	for _, member := range r.KeyMembers() {
		if f, ok := r.ByMember(member); ok {
			refs = append(refs, f)
		}
	}
	labels, err := q.RefLabels(refs, found.Data)
	if err != nil {
		return err
	}
	for _, rec := range found.Data {
		about := []string{site.Label(r, rec)}
		for _, member := range r.KeyMembers() {
			f, ok := r.Field(member)
			if ref, isRef := r.ByMember(member); isRef {
				about = append(about, labels[rec.Text(ref.Name)])
			} else if ok && f.Ref == nil {
				about = append(about, rec.Text(f.Name))
			}
		}
		about = slices.DeleteFunc(about, func(s string) bool { return s == "" })
		slices.Sort(about[1:])
		a.Choices = append(a.Choices, site.Choice{Label: strings.Join(slices.Compact(about), " · "), Value: rec.ID()})
	}
	slices.SortFunc(a.Choices, func(x, y site.Choice) int { return cmp.Compare(x.Label, y.Label) })
	return nil
}
