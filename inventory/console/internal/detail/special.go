package detail

import (
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// hidden are lists that the pages of some records show in another way, or that would say nothing.
var hidden = map[string][]string{
	"devices":     {"interfaces.device_id", "front-ports.device_id", "rear-ports.device_id", "events.device_id", "metrics.device_id"},
	"interfaces":  {"links.a_interface_id", "links.b_interface_id", "cables.a_interface_id", "cables.b_interface_id"},
	"front-ports": {"cables.a_front_port_id", "cables.b_front_port_id"},
	"rear-ports":  {"cables.a_rear_port_id", "cables.b_rear_port_id"},
}

// hides reports whether the page has no list of the records of a resource that refer to it by a field.
func (p *page) hides(resource, field string) bool {
	return slices.Contains(hidden[p.Resource.Name], resource+"."+field)
}

// special adds the sections and actions that only the pages of some resources have.
func (p *page) special() {
	id, q := p.Rec.ID(), p.q
	main := func(s *section, load func(*section) error) {
		s.load = load
		p.Main = append(p.Main, s)
	}
	side := func(s *section, load func(*section) error) {
		s.load = load
		p.Side = append(p.Side, s)
	}
	for _, l := range q.Links {
		if l.Resource == p.Resource.Name && l.Show(q) {
			p.act(l.Label, q.UI.URL(l.Path(id)), l.Icon)
		}
	}
	switch name := p.Resource.Name; name {
	case "devices":
		p.device(main, side)
	case "interfaces", "front-ports", "rear-ports":
		side(&section{ID: "port-connection", Kind: "connection", Title: "Connection", Follow: follow(q, "cables", "links")}, p.loadConnection)
	case "events":
		side(&section{ID: "event-state", Kind: "acknowledgement", Title: "Acknowledgement", Follow: follow(q, "events")}, p.loadAcknowledgement)
	case "racks":
		if q.MaySee("devices") {
			p.act("Elevation", q.UI.URL("/elevation/"+id), "rack")
			side(&section{ID: "rack-units", Kind: "rack", Title: "Units", Follow: follow(q, "devices", "racks")}, func(s *section) error { return loadRack(q, s, id, "") })
		}
	case "prefixes":
		p.act("In the tree", q.UI.URL("/prefixes?under="+id), "prefix")
		side(&section{ID: "prefix-usage", Kind: "usage", Title: "Usage", Follow: follow(q, "prefixes", "addresses")}, p.loadUsage)
		main(&section{ID: "prefix-prefixes", Kind: "table", Title: "Prefixes within", Follow: follow(q, "prefixes")}, p.loadWithin("prefixes", "prefix"))
		if q.MaySee("addresses") {
			main(&section{ID: "prefix-addresses", Kind: "table", Title: "Addresses within", Follow: follow(q, "addresses")}, p.loadWithin("addresses", "address"))
		}
	case "locations":
		if q.May("devices", records.RouteList) {
			side(&section{ID: "location-count", Kind: "facts", Title: "Devices", Follow: follow(q, "devices")}, p.loadLocationCounts)
		}
	}
}

// act adds an action of the page.
func (p *page) act(label, address, icon string) {
	p.Actions = append(p.Actions, action{Label: label, URL: address, Icon: icon})
}

// loadLocationCounts counts the devices at a location, and at those within it.
func (p *page) loadLocationCounts(s *section) error {
	var facts []fact
	for _, of := range []struct{ label, parameter string }{{"Devices here", "location_id"}, {"Devices here and within", "below"}} {
		query := url.Values{of.parameter: {p.Rec.ID()}}
		list, err := p.q.List("devices", url.Values{of.parameter: {p.Rec.ID()}, "limit": {"1"}, "count": {"estimated"}, "fields": {"id"}})
		if err != nil {
			return err
		}
		facts = append(facts, fact{
			Resource: "devices", Label: of.label, Icon: "device", URL: p.q.ListURL("devices") + "?" + query.Encode(),
			Value: list.Meta.Total, More: list.Meta.Count == "estimated",
		})
	}
	if facts[0].Value == facts[1].Value {
		facts = facts[:1]
	}
	s.Data = facts
	return nil
}

// usage counts the used addresses of a prefix.
type usage struct {
	Prefix, URL         string
	Prefixes, Addresses int64
	Hosts               string
	Percent             float64

	// For the page of the prefix.
	ID            string
	Address, Next bool // whether the sender may create addresses, and prefixes
	Lengths       []int
}

// Text is the percentage for people.
func (u usage) Text() string { return strconv.FormatFloat(u.Percent, 'f', -1, 64) + " %" }

// Value is the value of a meter.
func (u usage) Value() float64 { return math.Min(1, u.Percent/100) }

func usageOf(q *site.Request, rec site.Record) (usage, error) {
	u := usage{Prefix: rec.Text("prefix"), URL: q.RecordURL("prefixes", rec.ID()), ID: rec.ID()}
	return u, q.Get("/prefixes/"+url.PathEscape(rec.ID())+"/usage", nil, &u)
}

func (p *page) loadUsage(s *section) error {
	u, err := usageOf(p.q, p.Rec)
	if err != nil {
		return err
	}
	u.Address, u.Next = p.q.May("addresses", records.RouteCreate), p.q.May("prefixes", records.RouteCreate)
	network, _ := netip.ParsePrefix(u.Prefix) // the API has checked it
	for n := network.Bits() + 1; n <= min(network.Addr().BitLen(), network.Bits()+16); n++ {
		u.Lengths = append(u.Lengths, n)
	}
	s.Data = u
	return nil
}

// loadWithin returns the function that lists the records within a prefix, in its VRF.
func (p *page) loadWithin(resource, field string) func(*section) error {
	return func(s *section) error {
		query := url.Values{field + "__within": {p.Rec.Text("prefix")}, "sortby": {field + ":asc"}}
		if vrf := p.Rec.Text("vrf_id"); vrf != "" {
			query.Set("vrf_id", vrf)
		} else {
			query.Set("vrf_id__isnull", "true")
		}
		names := []string{"address", "interface_id", "status", "dns_name"}
		if resource == "prefixes" {
			query.Set("prefix__ne", p.Rec.Text("prefix"))
			r, _ := p.q.Schema.Named(resource)
			names = columns(r, "vrf_id")
		}
		t, err := readTable(p.q, resource, query, childRows, names)
		if err != nil {
			return err
		}
		s.add("All", t.MoreURL, "")
		s.Data = t
		return nil
	}
}

// nextAddress creates a record for the lowest free address of a prefix.
func nextAddress(q *site.Request) error { return createNext(q, "next-address", "addresses", nil) }

// nextPrefix creates the lowest free prefix within a prefix.
func nextPrefix(q *site.Request) error {
	return createNext(q, "next-prefix", "prefixes", url.Values{"prefix_length": {q.R.PostFormValue("prefix_length")}})
}

func createNext(q *site.Request, what, resource string, query url.Values) error {
	rec := site.Record{}
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/prefixes/" + url.PathEscape(q.R.PathValue("id")) + "/" + what, Query: query}, &rec)
	if err != nil {
		return err
	}
	return q.Redirect("/r/" + resource + "/" + rec.ID() + "?done=created")
}

// loadAcknowledgement shows who has acknowledged the event, and when.
func (p *page) loadAcknowledgement(s *section) error {
	e := eventOf(p.q, p.Rec)
	by := p.Rec.Text("acknowledged_by")
	names, err := p.q.Labels("users", []string{by})
	e.By = names[by]
	s.Data = e
	return err
}

// acknowledge acknowledges an event, or withdraws that, and goes back to the page of the form.
func acknowledge(q *site.Request) error {
	withdraw, done := q.R.PostFormValue("withdraw") != "", "acknowledged"
	if withdraw {
		done = "saved"
	}
	_, err := q.Do(&site.Call{
		Method: http.MethodPatch, Path: "/events/" + url.PathEscape(q.R.PathValue("id")), Body: map[string]bool{"acknowledged": !withdraw},
	}, nil)
	if err != nil {
		return err
	}
	back, err := url.Parse(ui.LocalPath(q.R.PostFormValue("back")))
	if err != nil {
		back = &url.URL{Path: "/"}
	}
	query := back.Query()
	query.Set("done", done)
	return q.Redirect(back.EscapedPath() + "?" + query.Encode())
}
