package change

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxTries bounds the dry runs of a preview: each leaves out the records that the one before has refused.
const maxTries = 3

// preview shows what a change would do. Records that the API refuses are left out.
func (m *many) preview(status int) error {
	items := m.Items
	for range maxTries {
		refused := m.Refused
		fit, bodies := m.plan(items)
		items, m.Refused = fit, append(refused, m.Refused...)
		if len(items) == 0 {
			m.Problem = m.Refused[0].Why
			return m.ask(http.StatusUnprocessableEntity)
		}
		call, _ := m.together(&site.Call{Method: http.MethodPatch, Path: "/" + m.Resource.Name, Body: bodies})
		p, err := m.q.DryRun(call)
		fault, isFault := site.Refused(err)
		switch {
		case !isFault && err != nil:
			return err
		case !isFault:
			m.Items = items
			if err := m.show(p); err != nil {
				return err
			}
			return m.respond(status, "change-preview.html")
		}
		before := len(m.Refused)
		items = m.refuseItems(fault, items)
		if len(items) == 0 || len(m.Refused) == before {
			if len(fault.Items) > 0 { // no record accepts the change
				fault = &site.Fault{Status: fault.Status, Message: fault.Items[0].Message, Fields: fault.Items[0].Errors}
			}
			m.refuse(fault)
			return m.ask(fault.Status)
		}
	}
	m.Problem = "Too many records refuse this change in turn: select fewer"
	return m.ask(http.StatusUnprocessableEntity)
}

// refuseItems notes why records are refused, and returns the others.
func (m *many) refuseItems(fault *site.Fault, items []*item) (rest []*item) {
	if len(items) == 1 {
		if items[0].Why = fault.Message; len(fault.Items) > 0 {
			items[0].Why = fault.Items[0].Message
		}
		m.Refused = append(m.Refused, items[0])
		return nil
	}
	why := map[int]string{}
	for _, f := range fault.Items {
		if f.Index < len(items) && f.ID == items[f.Index].ID { // else it is one of the set
			why[f.Index] = f.Message
		}
	}
	for i, it := range items {
		if it.Why = why[i]; it.Why == "" {
			rest = append(rest, it)
		} else if !slices.Contains(m.Refused, it) {
			m.Refused = append(m.Refused, it)
		}
	}
	return rest
}

// show arranges the changes of a dry run by record, and those that several records have in common.
func (m *many) show(p *site.Preview) error {
	m.Preview = *p
	byID := map[string]*item{}
	for _, it := range m.Items {
		byID[it.ID] = it
	}
	ids := map[string][]string{}
	for _, e := range p.Changes {
		m.q.RefIDs(ids, m.Resource, e.Changes)
	}
	names, err := namesOf(m.q, ids)
	if err != nil {
		return err
	}
	var along []site.Change
	counts := map[site.Diff]int{}
	for _, e := range p.Changes {
		it := byID[e.ID]
		if of := m.q.OfKind(e.Kind); m.set != nil && of != nil && of.Name == m.set.Through {
			continue // the set of the record has it
		}
		if it == nil || m.Do == "delete" {
			along = append(along, e)
			continue
		}
		it.Diff = site.Diffs(m.Resource, e.Changes, func(f *records.Field, value any) string {
			return (&input{Field: f}).show(stored(f, value), names)
		})
		for _, d := range it.Diff {
			counts[d]++
		}
	}
	for _, it := range m.Items {
		if m.reset(it) {
			d := m.set.diff(it.rec, it.wanted)
			it.Diff = append(it.Diff, d)
			counts[d]++
		}
	}
	for r, n := range counts {
		m.Sums = append(m.Sums, sum{r, n})
	}
	slices.SortFunc(m.Sums, func(a, b sum) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Field, b.Field), cmp.Compare(a.Before, b.Before))
	})
	m.Effects, err = effects(m.q, along, func(id string) bool { return byID[id] != nil })
	return err
}

// Changed are the records that would change.
func (m *many) Changed() []*item {
	return slices.DeleteFunc(slices.Clone(m.Items), func(it *item) bool { return len(it.Diff) == 0 })
}

// maxOpen is the maximum number of records whose changes are unfolded.
const maxOpen = 5

// Open reports whether each record is unfolded.
func (m *many) Open() bool { return len(m.Items) <= maxOpen }

// maxSums is the maximum number of common changes that are shown.
const maxSums = 20

// Common are the changes that several records have in common, if there are few.
func (m *many) Common() []sum {
	if m.Every != nil {
		return slices.SortedStableFunc(slices.Values(m.Every.Sums), func(a, b sum) int { return b.Count - a.Count })
	}
	if m.Open() || len(m.Sums) > maxSums {
		return nil
	}
	return m.Sums
}

// deleteStep is the step of a deletion.
func (m *many) deleteStep() error {
	if m.Every != nil {
		return m.goOn(m.q.R.PostForm.Get("_step"))
	}
	if m.q.R.PostForm.Get("_step") != "apply" {
		return m.askDelete(http.StatusOK)
	}
	items := make([]map[string]any, len(m.Items))
	for i, it := range m.Items {
		items[i] = it.body(it.Version)
	}
	_, err := m.q.Do(&site.Call{Method: http.MethodDelete, Path: "/" + m.Resource.Name, Body: items}, nil)
	if fault, ok := site.Refused(err); ok {
		m.Problem = "Nothing was deleted: " + fault.Message
		if fault.Status == http.StatusPreconditionFailed {
			m.refuseItems(fault, m.Items)
			m.Problem = "Nothing was deleted: " + ui.Count(len(m.Refused)) + " of " + ui.Count(len(m.Items)) + " have been changed since the preview"
		}
		return m.askDelete(fault.Status)
	}
	if err != nil {
		return err
	}
	return m.done("deleted")
}

func (m *many) ids() []string {
	ids := make([]string, len(m.Items))
	for i, it := range m.Items {
		ids[i] = it.ID
	}
	return ids
}

// askDelete says what a deletion would do.
func (m *many) askDelete(status int) error {
	if len(m.Items) == 0 {
		return m.respond(status, "change-preview.html")
	}
	p, err := m.q.DryRun(&site.Call{Method: http.MethodDelete, Path: "/" + m.Resource.Name, Body: m.ids()})
	if fault, ok := site.Refused(err); ok {
		m.Items = m.refuseItems(fault, m.Items)
		if m.Problem == "" && len(m.Refused) == 0 {
			m.Problem = fault.Message
		}
		if len(m.Items) == 0 || len(fault.Items) == 0 {
			m.Items = nil
			return m.respond(status, "change-preview.html")
		}
		return m.askDelete(status)
	}
	if err != nil {
		return err
	}
	if err := m.show(p); err != nil {
		return err
	}
	return m.respond(status, "change-preview.html")
}
