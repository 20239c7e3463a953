package change

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of a change of all records that match.
const (
	maxWhere   = 8 << 10     // bytes of the filters
	maxSoFar   = 256 << 10   // bytes of what is done so far
	maxReasons = 20          // that are told apart
	maxSamples = 3           // records of a reason
	maxText    = 300         // characters of a reason, and of the filters in words
	first      = time.Second // of a step, so that a page shows how far it is
	further    = 10 * time.Second
)

// every is a change or deletion of all records that match the filters of a list: first a dry run, then the change, both in
// batches, each a transaction of its own. Only the page knows how far it is, and sends that with its form: when the server stops,
// or the page is left, what is done stays, and the rest does not happen.
type every struct {
	Where string // the parameters of the list
	Words string // the filters for people
	Dry   bool
	soFar
}

// soFar is what is done of a change.
type soFar struct {
	ID      string // the request of all batches in the audit log
	Cursor  string // behind the last batch; empty before the first one
	Ended   bool
	Total   int64 // the records that match, or more
	More    bool
	Planned int64 // the records that matched in the dry run

	Seen, Changed, Same, Refused int64

	Gone    int64 // that did not match any more when they were to change
	New     int64 // that match since the dry run
	Along   int64 // other records that change too
	Partly  bool  // Effects has not all of these
	Effects []effect
	Sums    []sum
	Reasons []reason
}

// reason is why some records are refused.
type reason struct {
	Why   string
	Count int64
	Some  []site.Link
}

// readEvery reads the form of a change of all records that match, nil for one of records that are selected.
func readEvery(values url.Values) (*every, error) {
	if !values.Has("_all") {
		return nil, nil
	}
	e := &every{Where: values.Get("_all"), Words: site.Clip(values.Get("_words"), maxText)}
	kept := values.Get("_so_far")
	if len(e.Where) > maxWhere || len(kept) > maxSoFar || kept != "" && json.Unmarshal([]byte(kept), &e.soFar) != nil {
		return nil, httpx.Errorf(http.StatusBadRequest, "Invalid form: it must have the values of the page that it belongs to")
	}
	return e, nil
}

// query returns the query of the records that match, in an order that changes of them keep.
func (e *every) query() url.Values {
	query, _ := url.ParseQuery(e.Where) // without what is no parameter
	for _, name := range []string{"fields", "format", "keys", "limit", "page", "sort"} {
		query.Del(name)
	}
	query.Set("sortby", "id:asc")
	return query
}

// Kept is what the next step starts with: what is done so far, or after the dry run the change itself.
func (e *every) Kept() (string, error) {
	next := e.soFar
	if e.Dry && e.Ended {
		next = soFar{ID: rand.Text(), Total: e.Seen, Planned: e.Seen}
	}
	text, err := json.Marshal(next)
	return string(text), err
}

// begin reads the first records that match, and how many do.
func (m *many) begin() error {
	e, query := m.Every, m.Every.query()
	query.Set("count", "estimated")
	page, err := m.q.List(m.Resource.Name, query)
	if err != nil {
		return err
	}
	e.Total, e.More = page.Meta.Total, page.Meta.Count == "estimated"
	return m.take(page.Data, nil)
}

// goOn makes the next batches, and shows how far the change is.
func (m *many) goOn(step string) error {
	e, status, patience := m.Every, http.StatusOK, first
	if e.Dry = step != "apply"; !e.Dry {
		m.q.R = m.q.R.WithContext(httpx.WithRequestID(m.q.R.Context(), e.ID))
	}
	if e.Cursor != "" && !ui.IsPart(m.q.R) { // somebody without JavaScript
		patience = further
	}
	m.Stopped = m.q.R.PostForm.Has("_stop")
	for until := time.Now().Add(patience); !m.Stopped && !e.Ended && time.Now().Before(until); {
		err := m.batch()
		if fault, ok := site.Refused(err); ok {
			m.Problem, m.Stopped, status = fault.Error(), true, fault.Status
		} else if err != nil {
			return err
		}
	}
	if e.Ended && !e.Dry {
		e.Gone, e.New = e.Gone+max(0, e.Planned-e.Seen), max(0, e.Seen-e.Planned)
	}
	if !e.Dry && e.Changed > 0 && m.q.MaySee(m.q.AuditLog()) {
		m.Log = m.q.ListURL(m.q.AuditLog()) + "?" + url.Values{"request_id": {e.ID}}.Encode()
	}
	m.Stopped = m.Stopped && !e.Ended
	return m.q.PageStatus(status, "change-every.html", m.Title, m)
}

// batch tries the next records that match.
func (m *many) batch() error {
	e, query := m.Every, m.Every.query()
	query.Set("cursor", e.Cursor)
	page, err := m.q.Some(m.Resource.Name, records.MaxLimit, query)
	if err == nil {
		err = m.take(page.Data, nil)
	}
	if err == nil {
		err = m.each(m.Items)
	}
	if err != nil {
		return err
	}
	e.Seen += int64(len(page.Data))
	e.Cursor, e.Ended = page.Meta.NextCursor, page.Meta.NextCursor == ""
	return nil
}

// each changes records, and counts what happens to them. Those that are refused do not keep the others from it.
func (m *many) each(items []*item) error {
	for range maxTries {
		var bodies []map[string]any
		items, bodies = m.plan(items)
		for _, it := range m.Refused {
			m.Every.refuse(it)
		}
		if len(items) == 0 {
			return nil
		}
		err := m.send(items, bodies)
		fault, refused := site.Refused(err)
		if !refused || len(fault.Items) == 0 && !slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity}, fault.Status) {
			return err
		}
		m.Refused = nil
		rest := m.refuseItems(fault, items)
		if len(rest) == len(items) {
			break // the fault names no record
		}
		again, err := m.recheck(m.Refused)
		if err != nil {
			return err
		}
		items = append(rest, again...)
	}
	return m.halves(items)
}

// halves is each for one half of records after the other.
func (m *many) halves(items []*item) error {
	for _, half := range [][]*item{items[:len(items)/2], items[len(items)/2:]} {
		if err := m.each(half); err != nil {
			return err
		}
	}
	return nil
}

// send makes a change of records, or tries it, and counts them.
func (m *many) send(items []*item, bodies []map[string]any) error {
	e, call := m.Every, &site.Call{Method: m.method(), Path: "/" + m.Resource.Name, Body: bodies}
	if e.Dry {
		whole, _ := m.together(call)
		p, err := m.q.DryRun(whole)
		switch {
		case err != nil:
			return err
		case p.Truncated && m.Do == "edit" && len(items) > 1: // it does not say which of them change
			return m.halves(items)
		}
		return m.add(items, p)
	}
	var done []site.Record
	var err error
	if m.Do == "edit" {
		done, err = m.change(call)
	} else {
		_, err = m.q.Do(call, nil)
	}
	if err != nil {
		return err
	}
	changed := len(items)
	for i, rec := range done {
		if rec.Text("version") == items[i].version() && !m.reset(items[i]) {
			changed--
		}
	}
	e.Changed, e.Same = e.Changed+int64(changed), e.Same+int64(len(items)-changed)
	return nil
}

// add counts the changes of a dry run.
func (m *many) add(items []*item, p *site.Preview) error {
	e := m.Every
	m.Items, m.Sums = items, nil
	if err := m.show(p); err != nil {
		return err
	}
	changed := len(items)
	if m.Do == "edit" {
		changed = len(m.Changed())
	} else {
		e.Along, e.Partly = e.Along+p.Deleted+p.Updated-int64(changed), e.Partly || p.Truncated
	}
	e.Changed, e.Same = e.Changed+int64(changed), e.Same+int64(len(items)-changed)
	for _, s := range m.Sums {
		e.sum(s)
	}
	for _, f := range m.Effects {
		if i := slices.IndexFunc(e.Effects, func(of effect) bool { return of.Title == f.Title }); i >= 0 {
			e.Effects[i].Count, e.Effects[i].More = e.Effects[i].Count+f.Count, e.Effects[i].More+f.Count
		} else if len(e.Effects) < maxReasons {
			e.Effects = append(e.Effects, f)
		}
	}
	return nil
}

// recheck returns those of refused records that have been changed meanwhile and match as before. It counts the others.
func (m *many) recheck(items []*item) (again []*item, err error) {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	query := m.Every.query()
	query.Set("id__in", strings.Join(ids, ","))
	page, err := m.q.Some(m.Resource.Name, records.MaxLimit, query)
	if err != nil {
		return nil, err
	}
	now := map[string]site.Record{}
	for _, rec := range page.Data {
		now[rec.ID()] = rec
	}
	for _, it := range items {
		rec, matches := now[it.ID]
		switch {
		case !matches:
			m.Every.Gone++
		case rec.Text("version") != it.version() && it.tries < maxTries:
			it.rec, it.tries, again = rec, it.tries+1, append(again, it)
		default:
			m.Every.refuse(it)
		}
	}
	return again, nil
}

// sum adds a change that several records have in common. Those after the first ones are one for each new value.
func (e *every) sum(s sum) {
	const others = "other values"
	for i, d := range []site.Diff{s.Diff, {Field: s.Field, Before: others, After: s.After}, {Field: s.Field, Before: others, After: others}} {
		if at := slices.IndexFunc(e.Sums, func(of sum) bool { return of.Diff == d }); at >= 0 {
			e.Sums[at].Count += s.Count
			return
		}
		if len(e.Sums) < (i+1)*maxSums || i == 2 {
			e.Sums = append(e.Sums, sum{d, s.Count})
			return
		}
	}
}

// refuse counts a record that is refused.
func (e *every) refuse(it *item) {
	e.Refused++
	why := site.Clip(it.Why, maxText)
	i := slices.IndexFunc(e.Reasons, func(r reason) bool { return r.Why == why })
	if i < 0 {
		if len(e.Reasons) == maxReasons {
			return
		}
		i, e.Reasons = len(e.Reasons), append(e.Reasons, reason{Why: why})
	}
	r := &e.Reasons[i]
	if r.Count++; len(r.Some) < maxSamples {
		r.Some = append(r.Some, site.Link{Label: site.Clip(it.Label, maxText), URL: it.URL})
	}
}
