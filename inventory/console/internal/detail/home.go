package detail

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The sizes of lists on the home page.
const (
	homeRows = 8
	homeBars = 6
	// silentAfter is the time for which a device may not be seen before the home page shows it.
	silentAfter = 24 * time.Hour
	// measuredPrefixes is of how many prefixes the home page reads the usage, and nearFull the percentage
	// from which it shows them.
	measuredPrefixes = 16
	nearFull         = 75.0
)

// home is the data of the home page.
type home struct {
	Top, Main, Side []*section
	Empty           bool // there are no devices, which the sender may create
	Create          bool
}

func showHome(q *site.Request) error {
	h := &home{}
	add := func(at *[]*section, s *section, needs ...string) {
		if q.MaySee(needs...) {
			*at = append(*at, s)
		}
	}
	facts := &section{ID: "home-facts", Kind: "facts", Follow: follow(q, "devices", "interfaces", "links", "prefixes", "addresses", "events"), load: func(s *section) error { return loadFacts(q, s) }}
	add(&h.Top, facts)
	add(&h.Top, &section{ID: "home-bars", Kind: "bars", Follow: follow(q, "devices"), load: func(s *section) error { return loadBars(q, s) }}, "devices")
	add(&h.Main, &section{ID: "home-events", Kind: "events", Title: "Open events", Follow: follow(q, "events"), load: func(s *section) error { return loadOpenEvents(q, s) }}, "events")
	add(&h.Main, &section{ID: "home-silent", Kind: "table", Title: "Not seen for a day", Follow: follow(q, "devices"), load: func(s *section) error { return loadSilent(q, s) }}, "devices")
	add(&h.Side, &section{ID: "home-prefixes", Kind: "usages", Title: "Prefixes near full", Follow: follow(q, "prefixes", "addresses"), load: func(s *section) error { return loadNearFull(q, s) }}, "prefixes", "addresses")
	if q.May("audit-logs", records.RouteList) {
		add(&h.Side, &section{ID: "home-changes", Kind: "entries", Title: "Newest changes", Follow: follow(q, "devices", "interfaces", "links", "cables", "locations", "prefixes", "addresses", "vlans"), load: func(s *section) error { return loadNewest(q, s) }})
	} else {
		add(&h.Side, &section{ID: "home-changed", Kind: "table", Title: "Devices changed last", Follow: follow(q, "devices"), load: func(s *section) error { return loadChanged(q, s) }}, "devices")
	}
	if done, err := loadAll(q, "home.html", slices.Concat(h.Top, h.Main, h.Side)); done || err != nil {
		return err
	}
	for _, f := range facts.Data.([]fact) {
		h.Empty = h.Empty || f.Resource == "devices" && f.Value == 0
	}
	h.Create = q.May("devices", records.RouteCreate)
	return q.Page("home.html", "Home", h)
}

// fact is a number with a link.
type fact struct {
	Resource, Label, URL, Icon string
	Value                      int64
	More                       bool // there are more than Value
	Bad                        bool
}

// loadFacts counts records: by totals that the store has, or up to a bound.
func loadFacts(q *site.Request, s *section) error {
	var facts []fact
	for _, name := range []string{"devices", "interfaces", "links", "prefixes", "addresses"} {
		if r, ok := q.Schema.Named(name); ok && q.May(name, records.RouteList) {
			facts = append(facts, fact{Resource: name, Label: site.Title(r), URL: q.ListURL(name), Icon: site.Icon(name)})
		}
	}
	critical := url.Values{"severity": {"critical"}, "acknowledged_at__isnull": {"true"}}
	if q.May("events", records.RouteList) {
		facts = append(facts, fact{Resource: "events", Label: "Open critical events", URL: q.ListURL("events") + "?" + critical.Encode(), Icon: "event"})
	}
	calls := make([]func() error, len(facts))
	for i := range facts {
		calls[i] = func() error {
			f := &facts[i]
			query := url.Values{"limit": {"1"}, "count": {"estimated"}, "fields": {"id"}}
			if f.Resource == "events" {
				query["severity"], query["acknowledged_at__isnull"] = critical["severity"], critical["acknowledged_at__isnull"]
			}
			page, err := q.List(f.Resource, query)
			if err == nil {
				f.Value, f.More = page.Meta.Total, page.Meta.Count == "estimated"
				f.Bad = f.Resource == "events" && f.Value > 0
			}
			return err
		}
	}
	s.Data = facts
	return together(calls...)
}

// bars is a chart of counts.
type bars struct {
	Title string
	Rows  []bar
}

type bar struct {
	Label, URL string
	Value      int64
	Share      float64 // 0 to 100
}

// loadBars counts the devices by some fields.
func loadBars(q *site.Request, s *section) error {
	r, _ := q.Schema.Named("devices")
	var fields []*records.Field
	var names []string
	for _, name := range []string{"status", "vendor", "role", "location_id"} {
		if f, ok := r.Field(name); ok && f.Counted {
			fields, names = append(fields, f), append(names, name)
		}
	}
	counts, err := q.Summary("devices", names...)
	if err != nil || counts.Total == 0 {
		return err
	}
	all := make([]bars, len(fields))
	for i, f := range fields {
		all[i].Title = "Devices by " + strings.ToLower(site.FieldLabel(f))
		if all[i].Rows, err = barsOf(q, f, counts.By[f.Name], counts.Other[f.Name]); err != nil {
			return err
		}
	}
	s.Data = all
	return nil
}

// barsOf returns the highest counts by a field of devices, and one bar for the others.
func barsOf(q *site.Request, f *records.Field, counts map[string]int64, other int64) ([]bar, error) {
	values := site.Frequent(counts)
	shown := values[:min(len(values), homeBars)]
	labels := map[string]string{}
	if f.Ref != nil {
		var err error
		if labels, err = q.Labels(f.Ref.To, shown); err != nil {
			return nil, err
		}
	}
	var rows []bar
	highest := int64(1)
	for _, v := range shown {
		highest = max(highest, counts[v])
		b := bar{Label: cmp.Or(labels[v], v), Value: counts[v], URL: q.ListURL("devices") + "?" + url.Values{f.Name: {v}}.Encode()}
		if v == "" {
			b.Label, b.URL = "none", q.ListURL("devices")+"?"+url.Values{f.Name + "__isnull": {"true"}}.Encode()
		}
		rows = append(rows, b)
	}
	for _, v := range values[len(shown):] {
		other += counts[v]
	}
	for i := range rows {
		rows[i].Share = 100 * float64(rows[i].Value) / float64(highest)
	}
	if n := len(values) - len(shown); n > 0 {
		label := strconv.Itoa(n) + " others"
		if n == 1 {
			label = "1 other"
		}
		rows = append(rows, bar{Label: label, Value: other, URL: q.ListURL("devices"), Share: min(100, 100*float64(other)/float64(highest))})
	}
	return rows, nil
}

// loadOpenEvents lists the newest events of high severity that nobody has acknowledged.
func loadOpenEvents(q *site.Request, s *section) error {
	query := url.Values{"severity__in": {"critical,high"}, "acknowledged_at__isnull": {"true"}}
	s.Note = "critical and high, not acknowledged"
	s.add("All", q.ListURL("events")+"?"+query.Encode(), "")
	return loadEvents(q, s, query, homeRows, true)
}

// loadSilent lists devices in service that have not been seen for a while, those that were lost last first.
func loadSilent(q *site.Request, s *section) error {
	before := time.Now().Add(-silentAfter).UTC().Truncate(time.Minute).Format(time.RFC3339)
	query := url.Values{"status__in": {"active,maintenance,offline"}, "last_seen__lt": {before}, "sortby": {"last_seen:desc"}, "count": {"none"}}
	return loadTable(q, s, "devices", query, homeRows, []string{"hostname", "status", "location_id", "last_seen"})
}

// loadChanged lists the devices that were changed last.
func loadChanged(q *site.Request, s *section) error {
	return loadTable(q, s, "devices", url.Values{"sortby": {"updated_at:desc"}, "count": {"none"}}, homeRows, []string{"hostname", "status", "updated_at"})
}

// loadNewest lists the newest changes of records.
func loadNewest(q *site.Request, s *section) error {
	query := url.Values{"action__in": {"create,update,delete"}}
	s.add("All", q.ListURL("audit-logs")+"?"+query.Encode(), "")
	entries, _, err := readEntries(q, query, homeRows)
	if len(entries) > 0 {
		s.Data = entries
	}
	return err
}

// loadNearFull shows those of the prefixes changed last that are almost full. How full a prefix is takes a
// call of the API for each.
func loadNearFull(q *site.Request, s *section) error {
	page, err := q.List("prefixes", url.Values{"status": {"active"}, "sortby": {"updated_at:desc"}, "limit": {strconv.Itoa(measuredPrefixes)}, "count": {"estimated"}})
	if err != nil {
		return err
	}
	usages := make([]usage, len(page.Data))
	calls := make([]func() error, len(page.Data))
	for i, rec := range page.Data {
		calls[i] = func() (err error) {
			usages[i], err = usageOf(q, rec)
			return err
		}
	}
	if err := together(calls...); err != nil {
		return err
	}
	usages = slices.DeleteFunc(usages, func(u usage) bool { return u.Percent < nearFull })
	slices.SortFunc(usages, func(a, b usage) int { return cmp.Compare(b.Percent, a.Percent) })
	if page.Meta.Total > measuredPrefixes {
		s.Note = "of the " + strconv.Itoa(measuredPrefixes) + " changed last"
	}
	s.add("All", q.UI.URL("/prefixes"), "")
	if len(usages) > 0 {
		s.Data = usages[:min(len(usages), homeRows)]
	}
	return nil
}
