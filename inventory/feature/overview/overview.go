// Package overview is the feature of what the home page and the pages of locations say about devices.
package overview

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The sizes of lists on the home page.
const (
	homeRows = 8
	homeBars = 6
	// silentAfter is the time for which a device may not be seen before the home page shows it.
	silentAfter = 24 * time.Hour
)

// New returns the feature.
func New() *feature.Feature {
	devices := []string{"devices"}
	return &feature.Feature{
		Needs: map[string]records.Record{"devices": &inventory.Device{}, "locations": &inventory.Location{}},
		Pages: site.Pages{
			Counts: []site.Count{
				{Resource: "devices", Order: 10, Empty: "The inventory is empty"}, {Resource: "interfaces", Order: 20}, {Resource: "links", Order: 30},
			},
			Sections: []site.Section{
				{ID: "home-bars", Template: "section-bars", Column: site.Top, Order: 10, Follow: devices, Needs: devices, Load: loadBars},
				{ID: "home-silent", Title: "Not seen for a day", Template: "section-table", Order: 20, Follow: devices, Needs: devices, Load: loadSilent},
				{ID: "home-changed", Title: "Devices changed last", Template: "section-table", Column: site.Side, Order: 30, Follow: devices, Needs: devices, Load: loadChanged},
				{On: "locations", ID: "location-count", Title: "Devices", Template: "section-facts", Column: site.Side, Order: 10, Follow: devices, Needs: devices, Load: loadAt},
			},
		},
	}
}

// loadBars counts the devices by some fields.
func loadBars(q *site.Part) error {
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
	all := make([]site.Bars, len(fields))
	for i, f := range fields {
		by, filter, of := strings.ToLower(site.FieldLabel(f)), f.Name, counts.By[f.Name]
		if f.Name == "location_id" && q.MaySee("locations") {
			by, filter = "site", "below"
			if of, err = atSites(q.Request, of); err != nil {
				return err
			}
		}
		all[i].Title = "Devices by " + by
		if all[i].Rows, err = barsOf(q.Request, f, filter, of, counts.Other[f.Name]); err != nil {
			return err
		}
	}
	q.Data = all
	return nil
}

// atSites adds the counts of locations to those of the sites that they are within: the first one above that is a site, or
// else the outermost one that is no region.
func atSites(q *site.Request, counts map[string]int64) (map[string]int64, error) {
	const highest = 20 // locations above each other
	known, missing := map[string]site.Record{}, slices.Collect(maps.Keys(counts))
	for range highest {
		recs, err := q.ByIDs("locations", missing, "id", "kind", "parent_id")
		if err != nil {
			return nil, err
		}
		missing = nil
		for _, rec := range recs {
			known[rec.ID()] = rec
			if above := rec.Text("parent_id"); known[above] == nil && rec.Text("kind") != string(inventory.LocationSite) {
				missing = append(missing, above)
			}
		}
		if len(recs) == 0 {
			break
		}
	}
	sites := map[string]int64{}
	for id, n := range counts {
		at := known[id]
		for range highest {
			above := known[at.Text("parent_id")]
			if above == nil || at.Text("kind") == string(inventory.LocationSite) || above.Text("kind") == string(inventory.LocationRegion) {
				break
			}
			at, id = above, above.ID()
		}
		sites[id] += n
	}
	return sites, nil
}

// barsOf returns the highest counts by a field of devices, and one bar for the others. filter is the parameter of a list
// with the records of a bar.
func barsOf(q *site.Request, f *records.Field, filter string, counts map[string]int64, other int64) ([]site.Bar, error) {
	values := site.Frequent(counts)
	shown := values[:min(len(values), homeBars)]
	labels := map[string]string{}
	if f.Ref != nil {
		var err error
		if labels, err = q.Labels(f.Ref.To, shown); err != nil {
			return nil, err
		}
	}
	var rows []site.Bar
	highest := int64(1)
	for _, v := range shown {
		highest = max(highest, counts[v])
		b := site.Bar{Label: cmp.Or(labels[v], v), Value: counts[v], URL: q.ListURL("devices") + "?" + url.Values{filter: {v}}.Encode()}
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
		rows = append(rows, site.Bar{Label: label, Value: other, URL: q.ListURL("devices"), Share: min(100, 100*float64(other)/float64(highest))})
	}
	return rows, nil
}

// loadSilent lists devices in service that have not been seen for a while, those that were lost last first.
func loadSilent(q *site.Part) error {
	before := time.Now().Add(-silentAfter).UTC().Truncate(time.Minute).Format(time.RFC3339)
	query := url.Values{"status__in": {"active,maintenance,offline"}, "last_seen__lt": {before}, "sortby": {"last_seen:desc"}, "count": {"none"}}
	return q.LoadTable("devices", query, homeRows, []string{"hostname", "status", "location_id", "last_seen"})
}

// loadChanged lists the devices that were changed last, for those who may not see the audit log.
func loadChanged(q *site.Part) error {
	if q.MaySee(q.AuditLog()) { // of which the home page has the newest entries
		return nil
	}
	return q.LoadTable("devices", url.Values{"sortby": {"updated_at:desc"}, "count": {"none"}}, homeRows, []string{"hostname", "status", "updated_at"})
}

// loadAt counts the devices at a location, and at those within it.
func loadAt(p *site.Part) error {
	id := []string{p.Rec.ID()}
	facts, err := p.Numbers([]site.Count{
		{Resource: "devices", Label: "Devices here", Query: url.Values{"location_id": id}},
		{Resource: "devices", Label: "Devices here and within", Query: url.Values{"below": id}},
	})
	if err != nil {
		return err
	}
	if facts[0].Value == facts[1].Value {
		facts = facts[:1]
	}
	p.Data = facts
	return nil
}
