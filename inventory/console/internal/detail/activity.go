package detail

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of the page of what people did.
const (
	activityPath = "/activity"
	activityRows = 100  // entries of a page
	maxCounted   = 1000 // entries of a request that are read to say what it did
	maxSentences = 25   // of a request
	maxPeople    = 50   // to choose from
)

// changesOnly are the actions that change records.
const changesOnly = "create,update,delete"

// activity is the data of the page of what people did, the newest first.
type activity struct {
	Self              string
	Days, Kinds       []preset
	People            []site.Choice
	Deeds             []deed
	Table             string // the address of the list with the same filters
	Newest, Older     string
	Day, Person, Kind string
}

// preset is a choice that is one click away.
type preset struct {
	Label, URL string
	Current    bool
}

// deed is what one request did.
type deed struct {
	entry            // the first of its entries
	Day       string // if it is the first of a day
	Clock     string
	Counts    string  // of what it did in words, such as "created 60 devices and 2,940 interfaces"
	Sentences []entry // one for each entry; those of a request with counts are folded
	All       string  // the address of the list of all its entries, if there are more
}

// showActivity is the page of what people did. Its entries are those of the audit log.
func showActivity(q *site.Request) error {
	in := q.R.URL.Query()
	a := &activity{Self: q.UI.URL(activityPath), Day: in.Get("day"), Person: in.Get("by"), Kind: in.Get("kind")}
	query := url.Values{"action__in": {changesOnly}}
	if err := a.choices(q, query); err != nil {
		return err
	}
	a.Table = q.ListURL(q.AuditLog()) + "?" + query.Encode()
	if in.Has("cursor") {
		query.Set("cursor", in.Get("cursor"))
		a.Newest = a.with("", "")
	}
	if skip := in.Get("skip"); skip != "" { // the rest of a request that the page before has counted
		query.Set("request_id__ne", skip)
	}
	entries, next, err := readEntries(q, query, activityRows)
	if err != nil {
		return err
	}
	a.Deeds = deedsOf(q, entries)
	if next != "" {
		last := &a.Deeds[len(a.Deeds)-1]
		if err := last.count(q); err != nil {
			return err
		}
		a.Older = a.with("cursor", next, "skip", last.Rec.Text("request_id"))
	}
	return q.Page("activity.html", "Audit log", a)
}

// with returns the address of the page with other parameters beside the choices. Those without a value are left out.
func (a *activity) with(pairs ...string) string {
	to := url.Values{}
	for _, p := range [][2]string{{"day", a.Day}, {"by", a.Person}, {"kind", a.Kind}} {
		to.Set(p[0], p[1])
	}
	for pair := range slices.Chunk(pairs, 2) {
		to.Set(pair[0], pair[1])
	}
	maps.DeleteFunc(to, func(_ string, v []string) bool { return v[0] == "" })
	if len(to) == 0 {
		return a.Self
	}
	return a.Self + "?" + to.Encode()
}

// choices sets what the page can be narrowed down to, and the filters of what is chosen.
func (a *activity) choices(q *site.Request, query url.Values) error {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for _, day := range []struct {
		label, name string
		from, to    time.Time
	}{
		{"All", "", time.Time{}, time.Time{}}, {"Today", "today", today, time.Time{}}, {"Yesterday", "yesterday", today.AddDate(0, 0, -1), today}, {"7 days", "week", today.AddDate(0, 0, -6), time.Time{}},
	} {
		a.Days = append(a.Days, preset{day.label, a.with("day", day.name), day.name == a.Day})
		if day.name != a.Day {
			continue
		}
		for op, at := range map[string]time.Time{"created_at__gte": day.from, "created_at__lt": day.to} {
			if !at.IsZero() {
				query.Set(op, at.Format(time.RFC3339))
			}
		}
	}
	counts, err := q.Summary(q.AuditLog(), "actor", "action")
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(site.Frequent(counts.By["action"]), func(action string) bool {
		return action == "" || slices.Contains(strings.Split(changesOnly, ","), action)
	})
	for _, kind := range [][2]string{{"Changes", ""}, {"Sign-ins and others", "others"}} {
		a.Kinds = append(a.Kinds, preset{kind[0], a.with("kind", kind[1]), kind[1] == a.Kind})
	}
	if a.Kind == "others" {
		query.Set("action__in", strings.Join(append(others, "login"), ",")) // never empty
	}
	people := site.Frequent(counts.By["actor"])
	for _, name := range people[:min(len(people), maxPeople)] {
		a.People = append(a.People, site.Choice{Label: name, Value: name, Chosen: name == a.Person})
	}
	if a.Person != "" {
		query.Set("actor", a.Person)
	}
	return nil
}

// deedsOf joins entries that follow each other and are of one request.
func deedsOf(q *site.Request, entries []entry) (all []deed) {
	day := ""
	for _, e := range entries {
		request := e.Rec.Text("request_id")
		if n := len(all); n > 0 && request != "" && all[n-1].Rec.Text("request_id") == request {
			all[n-1].Sentences = append(all[n-1].Sentences, e)
			continue
		}
		d := deed{entry: e, Sentences: []entry{e}}
		if at, err := time.Parse(time.RFC3339, e.Rec.Text("created_at")); err == nil { // in UTC
			d.Clock = at.Format("15:04")
			if name := at.Format("Monday, 2 January 2006"); name != day {
				day, d.Day = name, name+" (UTC)"
			}
		}
		all = append(all, d)
	}
	for i := range all {
		d := &all[i]
		slices.Reverse(d.Sentences) // as they were done
		if len(d.Sentences) > 3 {
			d.say(q, d.tally(), 0)
		}
	}
	return all
}

// did is an action on records of a kind.
type did struct{ action, kind string }

// tally counts the entries of a deed.
func (d *deed) tally() map[did]int64 {
	counts := map[did]int64{}
	for _, e := range d.Sentences {
		counts[did{e.Rec.Text("action"), e.Rec.Text("resource_type")}]++
	}
	return counts
}

// count counts all entries of the request, of which the page may have the first only.
func (d *deed) count(q *site.Request) error {
	of := d.Rec.Text("request_id")
	if of == "" {
		return nil
	}
	query := url.Values{"request_id": {of}, "fields": {"id,action,resource_type"}, "limit": {fmt.Sprint(maxCounted)}}
	page, err := q.List(q.AuditLog(), query)
	if err != nil || page.Meta.Total <= int64(len(d.Sentences)) {
		return err
	}
	counts := map[did]int64{}
	for _, rec := range page.Data {
		counts[did{rec.Text("action"), rec.Text("resource_type")}]++
	}
	rest := page.Meta.Total - int64(len(page.Data))
	if rest > 0 {
		rest = page.Meta.Total
		for what := range counts {
			some, err := q.List(q.AuditLog(), url.Values{"request_id": {of}, "action": {what.action}, "resource_type": {what.kind}, "limit": {"1"}, "fields": {"id"}})
			if err != nil {
				return err
			}
			counts[what], rest = some.Meta.Total, rest-some.Meta.Total
		}
	}
	d.say(q, counts, rest)
	return nil
}

// say puts counts into words, the most frequent first.
func (d *deed) say(q *site.Request, counts map[did]int64, others int64) {
	d.Counts, d.All = "", q.ListURL(q.AuditLog())+"?"+url.Values{"request_id": {d.Rec.Text("request_id")}}.Encode()
	verb := ""
	for _, what := range slices.SortedFunc(maps.Keys(counts), func(a, b did) int {
		return cmp.Or(cmp.Compare(a.action, b.action), cmp.Compare(counts[b], counts[a]), cmp.Compare(a.kind, b.kind))
	}) {
		if d.Counts != "" {
			d.Counts += ", "
		}
		if next := verbOf(what.action); next != verb {
			verb = next
			d.Counts += verb + " "
		}
		n := counts[what]
		d.Counts += ui.Count(n) + " " + kindOf(q.OfKind(what.kind), what.kind, n)
	}
	if others > 0 {
		d.Counts += " and " + ui.Count(others) + " others"
	}
	d.Sentences = d.Sentences[:min(len(d.Sentences), maxSentences)]
}

// verbs are what actions of entries are in a sentence. Others are shown as they are.
var verbs = map[string]string{"create": "created", "update": "changed", "delete": "deleted", "read": "read", "login": "signed in as", "logout": "signed out as", "refused": "was refused"}

func verbOf(action string) string { return cmp.Or(verbs[action], strings.ReplaceAll(action, "_", " ")) }

// kindOf returns what n records of a kind are called.
func kindOf(r *records.Resource, kind string, n int64) string {
	switch {
	case r == nil:
		return strings.ReplaceAll(kind, "_", " ")
	case n == 1:
		return r.Noun()
	}
	return site.Plural(r)
}

// Verb is the sentence of an entry before the name of its record: "changed status of device".
func (e entry) Verb() string {
	action := e.Rec.Text("action")
	verb := verbOf(action)
	if action != "update" || len(e.Changes) == 0 {
		return verb + " " + e.Kind
	}
	if c := e.Changes[0]; len(e.Changes) == 1 && c.Before == "" {
		verb = "set"
	} else if len(e.Changes) == 1 && c.After == "" {
		verb = "removed"
	}
	return verb + " " + e.Brief() + " of " + e.Kind
}

// Rest is the sentence after the name: "from active to offline".
func (e entry) Rest() string {
	if e.Rec.Text("action") != "update" || len(e.Changes) != 1 {
		return ""
	}
	const most = 80
	c := e.Changes[0]
	before, after := site.Clip(c.Before, most), site.Clip(c.After, most)
	switch {
	case before == "":
		return "to " + after
	case after == "":
		return "which was " + before
	}
	return "from " + before + " to " + after
}

// activityEntry is the entry of the navigation.
func activityEntry() site.Entry {
	return site.Entry{Label: "Audit log", Path: activityPath, Icon: "history", Order: 900, Show: func(q *site.Request) bool { return q.MaySee(q.AuditLog()) }}
}
