package netmap

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Bounds of a map.
const (
	maxNodes   = 2000   // that a browser draws well
	maxClear   = 600    // that people can tell apart: a map of more shows locations instead
	maxRead    = 10_000 // that are read to choose from
	maxDepth   = 3
	maxPaths   = 10
	manyChosen = 100 // ids in one filter
)

// view holds the parameters of a map that are not empty: "device" with what is up to "depth" links away; the ends
// of paths "from" and "to", with "disjoint" and "state"; the filters "location", "role" and "status"; "group", which
// is places, location or none; and "failures", which is 1.
type view map[string]string

// readView returns the view of a request.
func readView(values url.Values) view {
	v := view{}
	for _, name := range []string{"device", "from", "to", "disjoint", "state", "location", "role", "status", "group"} {
		if value := values.Get(name); value != "" {
			v[name] = value
		}
	}
	if depth, err := strconv.Atoi(values.Get("depth")); err == nil && v["device"] != "" && depth > 1 && depth <= maxDepth {
		v["depth"] = strconv.Itoa(depth)
	}
	if values.Get("failures") == "1" {
		v["failures"] = "1"
	}
	return v
}

// depth returns how many links away the devices of the map are.
func (v view) depth() string { return cmp.Or(v["depth"], "1") }

// values returns the view as parameters, with changes in pairs of a name and a value.
func (v view) values(changes ...string) url.Values {
	values := url.Values{}
	for name, value := range v {
		values.Set(name, value)
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if values.Del(changes[i]); changes[i+1] != "" {
			values.Set(changes[i], changes[i+1])
		}
	}
	return values
}

// Saved returns the name of the view under which positions are kept, empty for none.
func (v view) Saved() string {
	switch {
	case v["device"] != "" || v["to"] != "":
		return ""
	case v["location"] != "":
		return "location:" + v["location"]
	}
	return "all"
}

// node and edge are a device and a link as the API and the script of the page have them.
type node struct {
	ID       string  `json:"id"`
	Hostname string  `json:"hostname"`
	Role     string  `json:"role"`
	Letters  string  `json:"letters"` // of the role
	Status   string  `json:"status"`
	State    string  `json:"state"`
	Location string  `json:"location_id"`
	Tone     string  `json:"tone"`
	Shape    string  `json:"shape"`
	Degree   int     `json:"degree"`
	CutOff   int     `json:"cut_off"` // by its failure
	X        float64 `json:"x"`
	Y        float64 `json:"y"`

	// Of a location instead of devices:
	Count int `json:"count,omitempty"` // devices
	Down  int `json:"down,omitempty"`  // of these

	LocationName string `json:"-"`
}

type end struct {
	Device    string `json:"device_id"`
	Interface string `json:"interface"`
}

type edge struct {
	ID     string `json:"id"`
	A      end    `json:"a"`
	B      end    `json:"b"`
	Type   string `json:"type"`
	Status string `json:"status"`
	State  string `json:"state"`
	CutOff int    `json:"cut_off"`
	Count  int    `json:"count,omitempty"` // links between two locations

	AName, BName string `json:"-"`
}

// path is a path between two devices.
type path struct {
	Hops  int
	Nodes []node
	Edges []edge
}

// Ports returns the interfaces of the link that leads on from a node, empty for the last one.
func (p path) Ports(at int) string {
	if at >= len(p.Edges) {
		return ""
	}
	e := p.Edges[at]
	if e.A.Device == p.Nodes[at].ID {
		return e.A.Interface + " – " + e.B.Interface
	}
	return e.B.Interface + " – " + e.A.Interface
}

// failure is a device or a link whose loss divides the network.
type failure struct {
	Device *node
	Link   *edge
	CutOff int `json:"cut_off"`
}

func (f failure) id() string {
	if f.Device != nil {
		return f.Device.ID
	}
	return f.Link.ID
}

// groupBox is a location on the map.
type groupBox struct {
	ID    string  `json:"id"`
	Label string  `json:"label"`
	Space float64 `json:"space"` // the width for its title
}

// graph is a part of the network.
type graph struct {
	Nodes  []node     `json:"nodes"`
	Edges  []edge     `json:"edges"`
	Groups []groupBox `json:"groups"`
	Total  int        `json:"total"`  // of devices
	Many   bool       `json:"many"`   // there are too many: no nodes
	Places bool       `json:"places"` // the nodes are locations

	Devices   int      `json:"-"` // before locations replace them
	Links     int      `json:"-"`
	of        []string // the group of each node, nil for none
	around    string   // the location that all nodes are in, empty for none
	locations locations
	Roles     []legendItem `json:"-"`

	Paths         []path    `json:"-"`
	MorePaths     bool      `json:"-"`
	Failures      []failure `json:"-"` // the first ones
	TotalFailures int       `json:"-"`
}

// topology is the response of the API.
type topology struct {
	Total     int `json:"total_nodes"`
	Truncated bool
	Nodes     []node
	Edges     []edge
}

// load reads what a view shows.
func load(q *site.Request, v view) (*graph, error) {
	g := &graph{Nodes: []node{}, Edges: []edge{}}
	var err error
	if g.locations, err = readLocations(q); err != nil {
		return nil, err
	}
	whole := false
	switch {
	case v["from"] != "" && v["to"] != "":
		err = g.loadPaths(q, v)
	case v["device"] != "":
		err = g.loadTopology(q, "/devices/"+url.PathEscape(v["device"])+"/neighbors", url.Values{"depth": {v.depth()}, "limit": {strconv.Itoa(maxNodes)}})
	default:
		whole = true
		err = g.loadFiltered(q, v)
	}
	if err == nil && v["failures"] != "" {
		err = g.loadFailures(q)
	}
	if err != nil {
		return nil, err
	}
	g.complete()
	if whole {
		g.divide(v)
	}
	if len(g.Nodes) > maxNodes {
		g.Nodes, g.Edges, g.Many = nil, nil, true
	}
	return g, nil
}

func (g *graph) loadTopology(q *site.Request, at string, query url.Values) error {
	var t topology
	if err := q.Get(at, query, &t); err != nil {
		return err
	}
	g.Nodes, g.Edges, g.Total = t.Nodes, t.Edges, t.Total
	if g.Total > len(g.Nodes) {
		g.Nodes, g.Edges, g.Many = nil, nil, true
	}
	return nil
}

// loadFiltered reads the network, or the devices of it that filters choose and the links between them.
func (g *graph) loadFiltered(q *site.Request, v view) error {
	err := g.loadTopology(q, "/topology", url.Values{"limit": {strconv.Itoa(maxRead)}})
	if err != nil || g.Many || v["location"] == "" && v["role"] == "" && v["status"] == "" {
		return err
	}
	query := url.Values{"fields": {"id"}}
	for name, value := range map[string]string{"below": v["location"], "role": v["role"], "status": v["status"]} {
		if value != "" {
			query.Set(name, value)
		}
	}
	recs, err := q.All("devices", query, maxRead)
	chosen := make(map[string]bool, len(recs))
	for _, rec := range recs {
		chosen[rec.ID()] = true
	}
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n node) bool { return !chosen[n.ID] })
	g.Edges = slices.DeleteFunc(g.Edges, func(e edge) bool { return !chosen[e.A.Device] || !chosen[e.B.Device] })
	g.Total = len(g.Nodes)
	return err
}

// loadPaths reads the paths between two devices, and makes a graph of them.
func (g *graph) loadPaths(q *site.Request, v view) error {
	query := url.Values{"from": {v["from"]}, "to": {v["to"]}, "limit": {strconv.Itoa(maxPaths)}}
	for _, name := range []string{"disjoint", "state"} {
		if v[name] != "" {
			query.Set(name, v[name])
		}
	}
	var found struct {
		Paths     []path
		Truncated bool
	}
	if err := q.Get("/topology/path", query, &found); err != nil {
		return err
	}
	g.Paths, g.MorePaths = found.Paths, found.Truncated
	seen := map[string]bool{}
	for _, p := range g.Paths {
		for _, n := range p.Nodes {
			if !seen[n.ID] {
				seen[n.ID] = true
				g.Nodes = append(g.Nodes, n)
			}
		}
		for _, e := range p.Edges {
			if !seen[e.ID] {
				seen[e.ID] = true
				g.Edges = append(g.Edges, e)
			}
		}
	}
	g.Total = len(g.Nodes)
	return nil
}

// loadFailures reads the single points of failure, and marks those of the graph.
func (g *graph) loadFailures(q *site.Request) error {
	var found struct {
		Total    int
		Failures []failure
	}
	if err := q.Get("/topology/failures", url.Values{"limit": {"1000"}}, &found); err != nil {
		return err
	}
	cut, shown := map[string]int{}, map[string]bool{}
	for _, f := range found.Failures {
		cut[f.id()] = f.CutOff
	}
	for i := range g.Nodes {
		g.Nodes[i].CutOff, shown[g.Nodes[i].ID] = cut[g.Nodes[i].ID], true
	}
	for i := range g.Edges {
		g.Edges[i].CutOff, shown[g.Edges[i].ID] = cut[g.Edges[i].ID], true
	}
	g.Failures = slices.DeleteFunc(found.Failures, func(f failure) bool { return !shown[f.id()] })
	g.TotalFailures = len(g.Failures)
	g.Failures = g.Failures[:min(len(g.Failures), manyChosen)]
	return nil
}

// complete sets what follows from other fields, and the names of the locations.
func (g *graph) complete() {
	at, names := make(map[string]int, len(g.Nodes)), make(map[string]string, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Tone, n.Shape = ui.Tone(n.Status), shape(n.Status)
		at[n.ID], names[n.ID] = i, n.Hostname
		if p := g.locations[n.Location]; p != nil {
			n.LocationName = p.Name
		}
	}
	name := func(e *edge) { e.AName, e.BName = names[e.A.Device], names[e.B.Device] }
	for i := range g.Edges {
		e := &g.Edges[i]
		name(e)
		g.Nodes[at[e.A.Device]].Degree++
		g.Nodes[at[e.B.Device]].Degree++
	}
	for _, f := range g.Failures {
		if f.Link != nil {
			name(f.Link)
		}
	}
	g.Devices, g.Links = len(g.Nodes), len(g.Edges)
	g.nameRoles()
}

// nameRoles gives the roles of most devices one or two letters of their names that no other one has, such as A, or As
// for an access switch beside it.
func (g *graph) nameRoles() {
	const most = 12
	counts, letters, taken := map[string]int{}, map[string]string{}, map[string]bool{}
	for _, n := range g.Nodes {
		if n.Role != "" {
			counts[n.Role]++
		}
	}
	for role, n := range counts {
		g.Roles = append(g.Roles, legendItem{Label: role, Count: n})
	}
	slices.SortFunc(g.Roles, compareItems)
	g.Roles = g.Roles[:min(len(g.Roles), most)]
	for i := range g.Roles {
		item, name := &g.Roles[i], []rune(strings.ToLower(g.Roles[i].Label))
		second := []rune{' '} // the letters to choose from: none, those that words begin with, all
		for at := 1; at < len(name); at++ {
			if !unicode.IsLetter(name[at-1]) {
				second = append(second, name[at])
			}
		}
		for _, r := range append(second, name[1:]...) {
			if s := strings.TrimSpace(strings.ToUpper(string(name[:1])) + string(r)); !taken[s] {
				item.Letters, taken[s], letters[item.Label] = s, true, s
				break
			}
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].Letters = letters[g.Nodes[i].Role]
	}
}

// divide decides how the nodes are grouped: by the locations within the one that all are in, not at all if these
// have few devices each or are parts of a building, and by showing the locations instead if there are too many
// devices.
func (g *graph) divide(v view) {
	const fewest = 3
	var of []string
	of, g.around = g.locations.split(g.Nodes, v["location"])
	different := len(slices.Compact(slices.Sorted(slices.Values(of))))
	switch collapse := v["group"] == "places" || v["group"] == "" && len(g.Nodes) > maxClear; {
	case v["group"] == "none" || different < 2 && v["group"] != "location":
	case collapse:
		g.collapse(g.locations, of, g.around)
	case v["group"] == "location" || len(g.Nodes) >= fewest*different && !g.locations.within(of):
		g.of = of
	}
}

// shapes are the shapes of statuses, so that colours are not needed to tell them apart.
var shapes = map[string]string{
	"active": "circle", "maintenance": "triangle", "offline": "diamond", "provisioning": "square", "decommissioned": "hexagon",
}

// shape returns the shape of a status, a pentagon for those of a program.
func shape(status string) string {
	if s := shapes[strings.ToLower(status)]; s != "" {
		return s
	}
	return "pentagon"
}

// place sets the positions of all nodes.
func (g *graph) place(v view) {
	at := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		at[g.Nodes[i].ID] = i
	}
	linked := make(net, len(g.Nodes))
	for _, e := range g.Edges {
		a, b := at[e.A.Device], at[e.B.Device]
		if a != b && !slices.Contains(linked[a], b) {
			linked[a], linked[b] = append(linked[a], b), append(linked[b], a)
		}
	}
	var points []point
	switch {
	case len(g.Paths) > 0:
		all := make([][]int, len(g.Paths))
		for i, p := range g.Paths {
			for _, n := range p.Nodes {
				all[i] = append(all[i], at[n.ID])
			}
		}
		points = rows(all, len(g.Nodes))
	case v["device"] != "" && len(g.Nodes) > 0:
		points = linked.radial(at[v["device"]])
	case g.Places:
		points = linked.overview(g.regions())
	default:
		gr := g.grouping()
		points = linked.layout(gr)
		for i := range g.Groups {
			g.Groups[i].Space = gr.space[i]
		}
	}
	for i, p := range points {
		g.Nodes[i].X, g.Nodes[i].Y = p.X, p.Y
	}
}

// grouping returns how the nodes are grouped, and sets the boxes of the groups.
func (g *graph) grouping() *grouping {
	gr := &grouping{group: make([]int, len(g.Nodes)), ranks: make([]int, len(g.Nodes)), first: -1}
	least, number := unranked, map[string]int{}
	for i := range g.Nodes {
		gr.ranks[i] = rank(g.Nodes[i].Role)
		least = min(least, gr.ranks[i])
	}
	if g.of == nil {
		gr.titles = []int{0}
		return gr
	}
	for i, id := range g.of {
		if _, ok := number[id]; !ok {
			label := g.locations.name(id, g.around)
			number[id] = len(gr.titles)
			gr.titles = append(gr.titles, utf8.RuneCountInString(label))
			g.Groups = append(g.Groups, groupBox{ID: id, Label: label})
		}
		gr.group[i] = number[id]
		g.Nodes[i].Location = id
		switch {
		case g.around == "" || gr.ranks[i] > least || gr.first == gr.group[i] || gr.first == -2:
		case gr.first >= 0: // several groups have devices of the first rank
			gr.first = -2
		default:
			gr.first = gr.group[i]
		}
	}
	return gr
}

// regions returns the number of the region of each location, and how many there are, and sets their boxes.
func (g *graph) regions() (of []int, count int) {
	of, number := make([]int, len(g.Nodes)), map[string]int{}
	for i, n := range g.Nodes {
		if _, ok := number[n.Location]; !ok {
			number[n.Location] = len(number)
			g.Groups = append(g.Groups, groupBox{ID: n.Location, Label: cmp.Or(g.locations.name(n.Location, ""), "Elsewhere")})
		}
		of[i] = number[n.Location]
	}
	if len(number) < 2 {
		g.Groups = nil
	}
	return of, len(number)
}
