package detail

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// device adds the sections and actions of the page of a device.
func (p *page) device(main, side func(*section, func(*section) error)) {
	id, q := p.Rec.ID(), p.q
	for _, name := range []string{"interfaces", "front-ports", "rear-ports"} {
		if r, ok := q.Schema.Named(name); ok && q.MaySee(name) {
			s := &section{ID: "device-" + name, Kind: "ports", Title: site.Title(r), Follow: follow(q, name, "cables", "links", "vlans", "tagged-vlans", "addresses")}
			main(s, func(s *section) error { return loadPorts(q, s, name, id) })
		}
	}
	if q.MaySee("metrics") {
		p.Charts = true
		main(&section{ID: "device-metrics", Kind: "metrics", Title: "Measurements", Follow: follow(q, "metrics")}, p.loadMetrics)
	}
	if q.MaySee("interfaces", "links") {
		side(&section{ID: "device-neighbours", Kind: "neighbours", Title: "Neighbours", Follow: follow(q, "links", "cables")}, p.loadNeighbours)
	}
	if q.MaySee("events") {
		main(&section{ID: "device-events", Kind: "events", Title: "Events", Follow: follow(q, "events")}, func(s *section) error {
			query := url.Values{"device_id": {id}}
			s.add("All", q.ListURL("events")+"?"+query.Encode(), "")
			return loadEvents(q, s, query, childRows, false)
		})
	}
	if rack := p.Rec.Text("rack_id"); rack != "" && q.MaySee("racks") {
		side(&section{ID: "device-rack", Kind: "rack", Title: "Rack", Follow: follow(q, "devices")}, func(s *section) error { return loadRack(q, s, rack, id) })
	}
}

// event is an event, with a button if the sender may acknowledge it.
type event struct {
	Rec         site.Record
	URL         string
	Device      string
	DeviceURL   string
	May         bool
	Acknowledge string // the address of the form
	By          string // who has acknowledged it, if the sender may see that
}

// Open reports whether nobody has acknowledged the event.
func (e event) Open() bool { return e.Rec.Text("acknowledged_at") == "" }

func eventOf(q *site.Request, rec site.Record) event {
	return event{
		Rec: rec, URL: q.RecordURL("events", rec.ID()), May: q.May("events", records.RouteChange), Acknowledge: q.UI.URL("/events/" + rec.ID() + "/acknowledge"),
	}
}

// loadEvents lists the newest events that match a query, with their devices if the page is not that of one.
func loadEvents(q *site.Request, s *section, query url.Values, limit int, devices bool) error {
	page, err := q.Some("events", limit, query)
	if err != nil || len(page.Data) == 0 {
		return err
	}
	names := map[string]string{}
	if devices {
		r, _ := q.Schema.Named("events")
		f, _ := r.Field("device_id")
		if names, err = q.RefLabels([]*records.Field{f}, page.Data); err != nil {
			return err
		}
	}
	events := make([]event, len(page.Data))
	for i, rec := range page.Data {
		e := eventOf(q, rec)
		if e.Device = names[rec.Text("device_id")]; e.Device != "" {
			e.DeviceURL = q.RecordURL("devices", rec.Text("device_id"))
		}
		events[i] = e
	}
	s.Data = events
	return nil
}

// loadConnection reads the cables and links of a port.
func (p *page) loadConnection(s *section) error {
	rows, err := portRows(p.q, p.Resource.Name, []site.Record{p.Rec})
	if err != nil {
		return err
	}
	s.Data = rows[0]
	if rows[0].Trace != "" {
		s.add("Trace", rows[0].Trace, "")
	}
	if len(rows[0].Far) == 0 {
		addNew(p.q, s, "cables", "a_"+portFields[p.Resource.Name]+"_id", p.Rec.ID())
	}
	return nil
}

// measurements are the data of the charts of a device.
type measurements struct {
	Range  string
	Ranges []action
	Chart  string // the address of the data
	Latest site.Record
	Uptime string
}

// ranges are the times that charts may show, and their lengths.
var ranges = []struct {
	Name   string
	Length time.Duration
}{{"1h", time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}}

// rangeOf returns the range of a request, a day by default.
func rangeOf(q *site.Request) (name string, length time.Duration) {
	for _, r := range ranges {
		if r.Name == q.R.URL.Query().Get("range") {
			return r.Name, r.Length
		}
	}
	return ranges[1].Name, ranges[1].Length
}

// loadMetrics reads the latest metric of a device.
func (p *page) loadMetrics(s *section) error {
	latest := site.Record{}
	if err := p.q.Get("/metrics/device/"+url.PathEscape(p.Rec.ID()), nil, &latest); err != nil {
		return err // 404 without any
	}
	m := measurements{Latest: latest, Uptime: uptime(number(latest, "uptime_seconds"))}
	here := p.q.RecordURL("devices", p.Rec.ID())
	m.Range, _ = rangeOf(p.q)
	m.Chart = here + "/metrics.json?range=" + m.Range
	for _, r := range ranges {
		m.Ranges = append(m.Ranges, action{Label: r.Name, URL: here + "?range=" + r.Name + "#device-metrics"})
	}
	s.add("All", p.q.ListURL("metrics")+"?"+url.Values{"device_id": {p.Rec.ID()}, "latest": {"false"}}.Encode(), "")
	s.Data = m
	return nil
}

// uptime writes seconds in days and hours.
func uptime(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	d := time.Duration(seconds) * time.Second
	if d < 24*time.Hour {
		return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
	}
	return strconv.Itoa(int(d.Hours())/24) + " d " + strconv.Itoa(int(d.Hours())%24) + " h"
}

// series is a line of a chart.
type series struct {
	Label  string     `json:"label"`
	Unit   string     `json:"unit"`
	Values []*float64 `json:"values"`
}

// sendMetrics responds with the measurements of a device, for its charts.
func sendMetrics(q *site.Request) error {
	type three struct{ Avg *float64 }
	var found struct {
		Data []struct {
			TS                time.Time
			CPU, Memory, Temp three
		}
	}
	_, length := rangeOf(q)
	from := time.Now().Add(-length).UTC().Format(time.RFC3339)
	if err := q.Get("/metrics/device/"+url.PathEscape(q.R.PathValue("id"))+"/history", url.Values{"from": {from}}, &found); err != nil {
		return err
	}
	times := make([]int64, len(found.Data))
	all := []series{{Label: "CPU", Unit: "%"}, {Label: "Memory", Unit: "%"}, {Label: "Temperature", Unit: "°C"}}
	for i, point := range found.Data {
		times[i] = point.TS.Unix()
		for n, v := range []*float64{point.CPU.Avg, point.Memory.Avg, point.Temp.Avg} {
			all[n].Values = append(all[n].Values, v)
		}
	}
	all = slices.DeleteFunc(all, func(s series) bool {
		return !slices.ContainsFunc(s.Values, func(v *float64) bool { return v != nil })
	})
	if len(all) == 0 {
		times = []int64{}
	}
	q.W.Header().Set("Cache-Control", "no-store")
	return httpx.WriteJSON(q.W, http.StatusOK, struct {
		Series []series `json:"series"`
		Times  []int64  `json:"times"`
	}{all, times})
}
