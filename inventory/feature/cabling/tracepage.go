package cabling

import (
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// tracePage is the data of the page of a trace.
type tracePage struct {
	Resource     *records.Resource
	Crumbs       []site.Link
	Title        string
	Complete     bool
	Hops         []tracedHop
	From, To     string // what the ends are
	Cables       int
	Length       float64 // metres, of the cables that have one
	Begins, Ends string  // why the path begins and ends there, if that is no interface
	MapURL       string  // of the path between the devices of a complete one
}

// tracedHop is a port, cable or link of a trace, as the API has it and as the page shows it.
type tracedHop struct {
	inventory.Hop

	Start          bool // it is the port of the trace
	Cable          bool // or a link
	URL, DeviceURL string
	Label          string      // "Front port"
	Rec            site.Record // of a cable
}

// ends say why a path begins or ends somewhere else than at an interface.
var ends = map[inventory.PathEnd]string{
	"open":     "The path ends here: the port has no cable that you may see.",
	"links":    "The path ends here: several links of the interface, or a cable at the other end, do not tell where it goes on.",
	"unmapped": "The path ends here: no front port belongs to this position of the rear port.",
	"split":    "The path ends here: it belongs to all positions of the rear port, and divides.",
	"shared":   "The path ends here: it divides at a rear port with several positions.",
	"loop":     "The path ends here: it comes back to where it has been.",
	"limit":    "The path is shown up to here: it has more than 200 hops in one direction.",
}

// showTrace is the page of the path that a port belongs to.
func showTrace(q *site.Request) error {
	r, err := q.Resource()
	if err != nil {
		return err
	}
	field := portFields[r.Name]
	if field == "" {
		return httpx.Errorf(http.StatusNotFound, "Only interfaces, front ports, rear ports and terminations have a trace")
	}
	var found struct {
		inventory.Path
		Hops []tracedHop `json:"hops"`
	}
	if err := q.Get("/trace", url.Values{field + "_id": {q.R.PathValue("id")}}, &found); err != nil {
		return err
	}
	t := &tracePage{Resource: r, Complete: found.Complete, Hops: found.Hops, Begins: ends[found.Ends[0]], Ends: ends[found.Ends[1]]}
	if err := t.describe(q, found.Start); err != nil {
		return err
	}
	return q.Page("trace.html", "Trace of "+t.Title, t)
}

// describe sets what the page shows of the hops.
func (t *tracePage) describe(q *site.Request, start int) error {
	var cables []string
	for i := range t.Hops {
		h := &t.Hops[i]
		resource := h.Type + "s"
		if r, ok := q.Schema.Named(resource); ok {
			h.Label = r.Label
		}
		h.Start, h.Cable, h.URL = i == start, h.Type == "cable" || h.Type == "link", q.RecordURL(resource, h.ID)
		if h.DeviceID != "" && q.May("devices", records.RouteGet) {
			h.DeviceURL = q.RecordURL("devices", h.DeviceID)
		}
		if h.Type == "cable" {
			cables = append(cables, h.ID)
		}
	}
	recs, err := q.ByIDs("cables", cables)
	if err != nil {
		return err
	}
	t.Cables = len(cables)
	for _, rec := range recs {
		t.Length += rec.Number("length")
		for i := range t.Hops {
			if t.Hops[i].ID == rec.ID() {
				t.Hops[i].Rec = rec
			}
		}
	}
	first, at, last := t.Hops[0], t.Hops[start], t.Hops[len(t.Hops)-1]
	t.Title, t.From, t.To = at.Hostname+" "+at.Name, first.Hostname+" "+first.Name, last.Hostname+" "+last.Name
	if t.Complete && first.DeviceID != last.DeviceID && q.Shows("/map") {
		t.MapURL = q.UI.URL("/map") + "?" + url.Values{"from": {first.DeviceID}, "to": {last.DeviceID}}.Encode()
	}
	t.Crumbs = []site.Link{{Label: site.Title(t.Resource), URL: q.ListURL(t.Resource.Name)}}
	if at.DeviceURL != "" {
		t.Crumbs = append(t.Crumbs, site.Link{Label: at.Hostname, URL: at.DeviceURL})
	}
	t.Crumbs = append(t.Crumbs, site.Link{Label: at.Name, URL: at.URL})
	return nil
}

// maxLeads is the number of interfaces of a device, such as a server, whose far ends the command palette shows.
const maxLeads = 4

// farPorts returns the interfaces at the far ends of a device with few interfaces.
func farPorts(q *site.Request, rec site.Record) (far []site.Link, err error) {
	page, err := q.Some("interfaces", maxLeads+1, url.Values{"device_id": {rec.ID()}, "fields": {"id"}})
	if err != nil || len(page.Data) > maxLeads {
		return nil, err
	}
	for _, near := range page.Data {
		var path inventory.Path
		if err := q.Get("/trace", url.Values{"interface_id": {near.ID()}}, &path); err != nil {
			return nil, err
		}
		for _, hop := range []inventory.Hop{path.Hops[0], path.Hops[len(path.Hops)-1]} {
			if hop.Type == string(inventory.PortInterface) && hop.Hostname != "" && hop.DeviceID != rec.ID() {
				far = append(far, site.Link{Label: hop.Hostname + " " + hop.Name, URL: q.RecordURL("interfaces", hop.ID)})
			}
		}
	}
	return far, nil
}
