package detail

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The sizes of histories: on the page of the record, and on that of the history.
const (
	historyRows = 5
	historyPage = 25
)

// entry is an entry of the audit log.
type entry struct {
	Rec                  site.Record
	URL, ActorURL        string
	Kind, Record, Target string // the record: its kind, and its label and address if it exists
	Changes              []site.Diff
}

// readEntries reads the newest entries of the audit log that match a query.
func readEntries(q *site.Request, query url.Values, limit int) ([]entry, string, error) {
	page, err := q.Some(q.AuditLog(), limit, query)
	if err != nil {
		return nil, "", err
	}
	ids := map[string][]string{}
	for _, rec := range page.Data {
		if r := q.OfKind(rec.Text("resource_type")); r != nil {
			ids[r.Name] = append(ids[r.Name], rec.Text("resource_id"))
			q.RefIDs(ids, r, changesOf(rec))
		}
	}
	labels, err := q.LabelsOf(ids)
	if err != nil {
		return nil, "", err
	}
	entries := make([]entry, len(page.Data))
	for i, rec := range page.Data {
		entries[i] = entryOf(q, q.OfKind(rec.Text("resource_type")), rec, labels)
	}
	return entries, page.Meta.NextCursor, nil
}

// changesOf returns the changed fields of an entry, by their names.
func changesOf(rec site.Record) map[string]site.Delta {
	all := map[string]site.Delta{}
	fields, _ := rec["changes"].(map[string]any)
	for name, v := range fields {
		if c, ok := v.(map[string]any); ok {
			all[name] = site.Delta{Before: c["before"], After: c["after"]}
		}
	}
	return all
}

// entryOf returns how pages show an entry. r is the resource of its record, or nil.
func entryOf(q *site.Request, r *records.Resource, rec site.Record, labels map[string]string) entry {
	e := entry{Rec: rec, URL: q.RecordURL(q.AuditLog(), rec.ID()), Kind: strings.ReplaceAll(rec.Text("resource_type"), "_", " ")}
	users := q.API.Users()
	if user := rec.Text("user_id"); user != "" && users != nil && q.May(users.Name, records.RouteGet) {
		e.ActorURL = q.RecordURL(users.Name, user)
	}
	id := rec.Text("resource_id")
	if e.Record = site.Clip(labels[id], 60); r != nil {
		e.Kind = r.Noun()
		if e.Record != "" {
			e.Target = q.RecordURL(r.Name, id)
		}
	}
	changed := changesOf(rec)
	e.Changes = site.Diffs(r, changed, func(f *records.Field, value any) string { return changedText(value, f, labels) })
	if r != nil && e.Record == "" && site.LabelField(r) != nil {
		named := changed[site.LabelField(r).Name] // of a record that has been deleted, by this entry or later
		e.Record = site.Clip(cmp.Or(site.Text(named.Before), site.Text(named.After)), 60)
	}
	if request, ok := changed["request"]; ok { // that read, or was refused: its record is who sent it
		e.Kind, e.Record, e.Target = strings.TrimPrefix(site.Clip(site.Text(request.After), 100), "GET "), "", ""
	}
	return e
}

// changedText returns a changed value for people.
func changedText(value any, f *records.Field, labels map[string]string) string {
	text := site.Named(value, labels)
	if f.Ref != nil && text != "" {
		return cmp.Or(labels[text], "one that is gone, or that you may not see")
	}
	if v, ok := value.(map[string]any); ok {
		if encoded, err := json.MarshalIndent(v, "", " "); err == nil {
			return site.Clip(string(encoded), 500)
		}
	}
	return site.Clip(text, 500)
}

// Brief names the first of the fields that an update has changed.
func (e entry) Brief() string {
	if e.Rec.Text("action") != "update" {
		return ""
	}
	const most = 3
	var names []string
	changes := e.Changes
	for _, c := range changes[:min(len(changes), most)] {
		names = append(names, site.Lower(c.Field))
	}
	if n := len(changes) - most; n > 0 {
		names = append(names, strconv.Itoa(n)+" more")
	}
	if last := len(names) - 1; last > 0 {
		names[last] = "and " + names[last]
	}
	if len(names) == 2 {
		return names[0] + " " + names[1]
	}
	return strings.Join(names, ", ")
}

// historyQuery selects the entries about a record.
func (p *page) historyQuery() url.Values {
	return url.Values{"resource_type": {p.Resource.Kind()}, "resource_id": {p.Rec.ID()}, "action__ne": {"read"}}
}

// historySection shows the newest entries about the record, up to so many.
func (p *page) historySection(rows int) *site.Part {
	return p.part(&site.Section{
		ID: "record-history", Template: "section-history", Title: "History", Follow: []string{p.Resource.Name},
		Load: func(s *site.Part) error {
			entries, next, err := readEntries(p.q, p.historyQuery(), rows)
			if err != nil {
				return err
			}
			if next != "" {
				s.Act("All", p.q.RecordURL(p.Resource.Name, p.Rec.ID())+"/history", "")
			}
			s.Data = entries
			return nil
		},
	})
}

// history is the data of the page of a history.
type history struct {
	*page
	Entries []entry
	First   string // the address of the newest entries, on later pages
	Older   string
}

// showHistory is the page with all entries about a record.
func showHistory(q *site.Request) error {
	p, err := openRecord(q)
	if err != nil {
		return err
	}
	query, here := p.historyQuery(), q.RecordURL(p.Resource.Name, p.Rec.ID())+"/history"
	h := &history{page: p}
	if at := q.R.URL.Query().Get("cursor"); at != "" {
		query.Set("cursor", at)
		h.First = here
	}
	var next string
	if h.Entries, next, err = readEntries(q, query, historyPage); err != nil {
		return err
	}
	if next != "" {
		h.Older = here + "?" + url.Values{"cursor": {next}}.Encode()
	}
	if err := p.crumbs(); err != nil {
		return err
	}
	p.Crumbs = append(p.Crumbs, site.Link{Label: p.Title, URL: q.RecordURL(p.Resource.Name, p.Rec.ID())})
	return q.Page("history.html", "History of "+p.Title, h)
}
