package netmap

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxRows is the maximum number of rows of each table below the map.
const maxRows = 500

// choice is a value of a filter, or a link to another view.
type choice struct {
	Label, Value, URL string
	Name              string // of a location, without an indent
	Chosen            bool
	Count             int
}

// legendItem is a status or a role on the map.
type legendItem struct {
	Label, Tone, Shape, Letters string
	Count                       int
}

// compareItems orders items by their numbers of devices, the largest first.
func compareItems(a, b legendItem) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Label, b.Label))
}

// mapPage is the data of the map.
type mapPage struct {
	View      view
	Graph     *graph
	Locations []choice
	Roles     []choice
	Statuses  []choice
	Groups    []choice
	Depths    []choice
	Chosen    []site.Bar // locations to choose from, if there are too many devices
	Legend    []legendItem
	Device    *deviceFacts
	From, To  site.Record
	Down      int // links
	May       bool
	Source    string // of the script
	Failures  string // the address with or without single points of failure
	Rows      []node // of the table
	Links     []edge
	Wanted    string // a device that was not found
}

// URL returns the address of the view with changes, below the prefix.
func (p *mapPage) URL(changes ...string) string { return address(p.View.values(changes...)) }

// Focus and Start return the address of a view around a device, and of the choice of a path from it.
func (p *mapPage) Focus(id string) string { return address(view{}.values("device", id)) }

func (p *mapPage) Start(id string) string {
	return p.URL("from", id, "to", "", "device", "", "depth", "")
}

// MaxNodes is the maximum number of devices of a map.
func (p *mapPage) MaxNodes() int { return maxNodes }

func address(values url.Values) string {
	if len(values) == 0 {
		return "/map"
	}
	return "/map?" + values.Encode()
}

func showMap(q *site.Request) error {
	v := readView(q.R.URL.Query())
	p := &mapPage{View: v}
	if p.Wanted = q.R.URL.Query().Get("find"); p.Wanted != "" {
		id, err := find(q, p.Wanted)
		if err != nil {
			return err
		}
		if id != "" {
			return q.Redirect(p.Focus(id))
		}
	}
	var err error
	if p.Graph, err = load(q, v); err != nil {
		return err
	}
	p.May = q.May("map-positions", records.RouteCreate) && v.Saved() != "" && !p.Graph.Places
	p.Source = q.UI.URL("/map/graph.json") + "?" + v.values().Encode()
	p.Failures = p.URL("failures", "1")
	if v["failures"] != "" {
		p.Failures = p.URL("failures", "")
	}
	if err := p.choices(q); err != nil {
		return err
	}
	if err := p.ends(q); err != nil {
		return err
	}
	p.tables()
	return q.Page("map.html", "Map", p)
}

// find returns the id of a device by its name or a part of it, empty if there is none.
func find(q *site.Request, name string) (string, error) {
	for _, filter := range []string{"hostname", "hostname__contains"} {
		page, err := q.Some("devices", 1, url.Values{filter: {name}, "fields": {"id"}})
		if err != nil {
			return "", err
		}
		if len(page.Data) > 0 {
			return page.Data[0].ID(), nil
		}
	}
	return "", nil
}

// ends reads the devices that the view names.
func (p *mapPage) ends(q *site.Request) (err error) {
	for id, into := range map[string]*site.Record{p.View["from"]: &p.From, p.View["to"]: &p.To} {
		if id != "" {
			if *into, _, err = q.One("devices", id); err != nil {
				return err
			}
		}
	}
	if p.View["device"] != "" {
		p.Device, err = factsOf(q, p.View["device"], p.View["from"])
	}
	return err
}

// choices sets the values of the filters, with the numbers of devices.
func (p *mapPage) choices(q *site.Request) error {
	counts, err := q.Summary("devices", "location_id", "role", "status")
	if err != nil {
		return err
	}
	v := p.View
	p.Roles, p.Statuses = values(counts.By["role"], v["role"]), values(counts.By["status"], v["status"])
	if q.May("locations", records.RouteList) {
		p.Graph.locations.count(counts.By["location_id"])
		p.Locations = p.Graph.locations.choices(v["location"])
	}
	for _, g := range [][2]string{{"Automatic", ""}, {"Locations only", "places"}, {"By location", "location"}, {"By links", "none"}} {
		p.Groups = append(p.Groups, choice{Label: g[0], Value: g[1], Chosen: v["group"] == g[1]})
	}
	for d := 1; d <= maxDepth; d++ {
		p.Depths = append(p.Depths, choice{Label: strconv.Itoa(d), URL: p.URL("depth", strconv.Itoa(d)), Chosen: v.depth() == strconv.Itoa(d)})
	}
	if p.Graph.Many {
		p.offer()
	}
	return nil
}

// values returns the values of a summary, without that of records without one.
func values(counts map[string]int64, chosen string) (all []choice) {
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[value]; value != "" && (n > 0 || value == chosen) {
			all = append(all, choice{Label: value, Value: value, Chosen: value == chosen, Count: int(n)})
		}
	}
	return all
}

// offer sets the locations to choose from instead of a map with too many devices.
func (p *mapPage) offer() {
	most := 1
	for _, c := range p.Locations {
		most = max(most, c.Count)
	}
	of := slices.Clone(p.Locations)
	slices.SortStableFunc(of, func(a, b choice) int { return cmp.Compare(b.Count, a.Count) })
	for _, c := range of[:min(len(of), manyChosen)] {
		p.Chosen = append(p.Chosen, site.Bar{
			Label: cmp.Or(c.Name, c.Label), URL: "?" + p.View.values("location", c.Value, "device", "", "depth", "").Encode(),
			Value: int64(c.Count), Share: 100 * float64(c.Count) / float64(most),
		})
	}
}

// tables sets the rows of the tables and the legend.
func (p *mapPage) tables() {
	counts := map[string]int{}
	for _, n := range p.Graph.Nodes {
		counts[n.Status]++
	}
	if p.Graph.Places {
		slices.SortFunc(p.Graph.Nodes, func(a, b node) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Hostname, b.Hostname))
		})
		return
	}
	for status, n := range counts {
		p.Legend = append(p.Legend, legendItem{Label: status, Tone: ui.Tone(status), Shape: shape(status), Count: n})
	}
	slices.SortFunc(p.Legend, compareItems)
	for _, e := range p.Graph.Edges {
		if e.State == "down" {
			p.Down++
		}
	}
	p.Rows, p.Links = p.Graph.Nodes[:min(len(p.Graph.Nodes), maxRows)], p.Graph.Edges[:min(len(p.Graph.Edges), maxRows)]
}

// sendGraph sends the graph to the script of the map.
func sendGraph(q *site.Request) error {
	v := readView(q.R.URL.Query())
	g, err := load(q, v)
	if err != nil {
		return err
	}
	g.place(v)
	if q.R.URL.Query().Get("arrange") != "1" && !g.Places {
		if err := g.useSaved(q, v); err != nil {
			return err
		}
	}
	q.W.Header().Set("Cache-Control", "no-store")
	return httpx.WriteJSON(q.W, http.StatusOK, g)
}

// neighbour is a link of a device, seen from it.
type neighbour struct {
	ID, Hostname, Local, Remote, State, Status string
}

// deviceFacts holds the facts in the panel of a device.
type deviceFacts struct {
	Rec        site.Record
	Location   string
	Rack       string
	Neighbours []neighbour
	Many       bool
	From       string // the start of a path whose end is being chosen
	Map        func(pairs ...string) string
}

// showDevice responds with the panel of a device.
func showDevice(q *site.Request) error {
	facts, err := factsOf(q, q.R.PathValue("id"), q.R.URL.Query().Get("from"))
	if err != nil {
		return err
	}
	return q.Part("map.html", "maps-panel", facts)
}

func factsOf(q *site.Request, id, from string) (*deviceFacts, error) {
	f := &deviceFacts{From: from, Map: func(pairs ...string) string { return address(view{}.values(pairs...)) }}
	var err error
	if f.Rec, _, err = q.One("devices", id); err != nil {
		return nil, err
	}
	if f.From == f.Rec.ID() {
		f.From = ""
	}
	for resource, into := range map[string]*string{"locations": &f.Location, "racks": &f.Rack} {
		id := f.Rec.Text(strings.TrimSuffix(resource, "s") + "_id")
		labels, err := q.Labels(resource, []string{id})
		if err != nil {
			return nil, err
		}
		*into = labels[id]
	}
	var t topology
	if err := q.Get("/devices/"+url.PathEscape(f.Rec.ID())+"/neighbors", url.Values{"limit": {"50"}}, &t); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, n := range t.Nodes {
		names[n.ID] = n.Hostname
	}
	for _, e := range t.Edges {
		switch f.Rec.ID() {
		case e.A.Device:
			f.Neighbours = append(f.Neighbours, neighbour{e.B.Device, names[e.B.Device], e.A.Interface, e.B.Interface, e.State, e.Status})
		case e.B.Device:
			f.Neighbours = append(f.Neighbours, neighbour{e.A.Device, names[e.A.Device], e.B.Interface, e.A.Interface, e.State, e.Status})
		}
	}
	slices.SortFunc(f.Neighbours, func(a, b neighbour) int {
		return cmp.Or(strings.Compare(a.Hostname, b.Hostname), strings.Compare(a.Local, b.Local))
	})
	f.Many = t.Truncated
	return f, nil
}
