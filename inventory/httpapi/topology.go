package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/topology"
)

// The bounds of the routes of the topology (REFERENCE.md, 2.13).
const (
	maxDepth = 32

	defaultNodes, maxNodes       = 1000, 10_000
	edgesPerNode                 = 4 // of the limit of nodes
	defaultPaths, maxPaths       = 10, 100
	defaultFailures, maxFailures = 100, 1000
	maxCutOff                    = 20
)

// topologyRoutes returns the routes over the graph of devices and links, if the schema has both.
func topologyRoutes(schema *records.Schema) []route {
	devices, ok := schema.Named("devices")
	links, ok2 := schema.Named("links")
	if !ok || !ok2 || !devices.Routes.Has(records.RouteList) || !links.Routes.Has(records.RouteList) {
		return nil
	}
	_, ok = devices.New().(*inventory.Device)
	_, ok2 = links.New().(*inventory.Link)
	if !ok || !ok2 {
		return nil
	}
	read := permission(devices.Access.Read.Or(records.Permission{Everyone: true}))
	routes := []route{
		{"GET", "/topology", ofAll(read), showTopology(), devices, records.RouteList, nil},
		{"GET", "/topology/path", ofAll(read), showPaths(), devices, records.RouteList, nil},
		{"GET", "/topology/failures", ofAll(read), showFailures(), devices, records.RouteList, nil},
		{"GET", "/devices/{id}/neighbors", ofAll(read), showNeighbors(), devices, records.RouteList, nil},
	}
	for i := range routes {
		handle := routes[i].handle
		routes[i].handle = func(c *call) error {
			if err := c.mayList("/interfaces", "/links"); err != nil {
				return err
			}
			return handle(c)
		}
	}
	return routes
}

// network returns the network that the sender may see, and its graph with what is down or without. That
// of a limited sender is read each time, so that the store decides about each record.
func (c *call) network(ctx context.Context, state string) (*network, *topology.Graph, error) {
	var n *network
	var working *topology.Graph
	var err error
	if c.places == nil && c.networks != nil {
		n, working, err = c.networks.network(ctx)
	} else if n, err = readNetwork(ctx, c.store); err == nil {
		working = n.Working()
	}
	switch {
	case err != nil:
		return nil, nil, err
	case state == stateUp:
		return n, working, nil
	}
	return n, n.Graph, nil
}

// mayList refuses senders who may not use some lists.
func (c *call) mayList(paths ...string) error {
	for _, rt := range c.routes {
		if rt.does == records.RouteList && slices.Contains(paths, rt.path) {
			if _, err := c.listable(&rt); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer responds to a question about the network, which is answered in its turn.
func (c *call) answer(state string, ask func(ctx context.Context, n *network, g *topology.Graph) (any, error)) error {
	var answer any
	_, err := c.read(nil, true, func(ctx context.Context, _ *records.Query) (*records.Page, error) {
		n, g, err := c.network(ctx, state)
		if err == nil {
			answer, err = ask(ctx, n, g)
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return httpx.WriteJSON(c.w, http.StatusOK, answer)
}

// number returns the value of a parameter, a whole number from least to most.
func (c *call) number(name string, least, most, byDefault int) (int, error) {
	if !c.query.Has(name) {
		return byDefault, nil
	}
	n, err := strconv.Atoi(c.query.Get(name))
	if err != nil || n < least || n > most {
		return 0, badField(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n, nil
}

// choice returns the value of a parameter, one of several; without it the first.
func (c *call) choice(name string, values ...string) (string, error) {
	value := c.query.Get(name)
	switch {
	case !c.query.Has(name):
		return values[0], nil
	case !slices.Contains(values, value):
		return "", badField(name, "must be "+strings.Join(values, " or "))
	}
	return value, nil
}

// recordID returns the id in a parameter, of a record that the sender may see.
func (c *call) recordID(name string, r *records.Resource) (string, error) {
	id := strings.ToLower(c.query.Get(name))
	if !records.ValidID(id) {
		return "", badField(name, "must be the id of a "+r.Noun()+", such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
	}
	_, err := c.store.Get(c.r.Context(), r, id)
	return id, err
}

// graphAnswer is a part of the network in a response.
type graphAnswer struct {
	Status     string        `json:"status"`
	TotalNodes int           `json:"total_nodes"`
	TotalEdges int           `json:"total_edges"`
	Truncated  bool          `json:"truncated"`
	Nodes      []networkNode `json:"nodes"`
	Edges      []networkEdge `json:"edges"`
}

// topologyQuery is a query for a part of the network.
type topologyQuery struct {
	state        string
	depth, limit int
}

func (c *call) topologyQuery(leastDepth int) (q topologyQuery, err error) {
	if q.state, err = c.choice("state", "any", stateUp); err != nil {
		return q, err
	}
	if q.depth, err = c.number("depth", leastDepth, maxDepth, leastDepth); err != nil {
		return q, err
	}
	q.limit, err = c.number("limit", 1, maxNodes, defaultNodes)
	return q, err
}

// topology serves the network, or that of a location and what is near it.
func (c *call) topology() error {
	q, err := c.topologyQuery(0)
	if err != nil {
		return err
	}
	location := ""
	if c.query.Has("location_id") {
		if err := c.mayList("/locations"); err != nil {
			return err
		}
		if location, err = c.recordID("location_id", records.Of[inventory.Location](c.schema)); err != nil {
			return err
		}
	} else if c.query.Has("depth") {
		return badField("depth", "counts from the devices of a location: use it with location_id")
	}
	return c.answer(q.state, func(ctx context.Context, n *network, g *topology.Graph) (any, error) {
		var from []string
		for i := range n.nodes {
			node := &n.nodes[i]
			if q.state == stateUp && node.State == stateDown {
				continue
			}
			if id := node.LocationID; location == "" || id != nil && *id == location {
				from = append(from, node.ID)
			}
		}
		return c.describeGraph(ctx, n, g, g.Neighbors(q.depth, from...), q.limit, location != "")
	})
}

// neighbors serves the part of the network around a device.
func (c *call) neighbors() error {
	id, err := c.parentID(records.Of[inventory.Device](c.schema))
	if err != nil {
		return err
	}
	q, err := c.topologyQuery(1)
	if err != nil {
		return err
	}
	return c.answer(q.state, func(ctx context.Context, n *network, g *topology.Graph) (any, error) {
		return c.describeGraph(ctx, n, g, g.Neighbors(q.depth, id), q.limit, true)
	})
}

// describeGraph returns some nodes and the links between them for a response: the first nodes, which
// are the nearest ones, if there are too many.
func (c *call) describeGraph(ctx context.Context, n *network, g *topology.Graph, found []topology.Neighbor, limit int, depths bool) (*graphAnswer, error) {
	links := n.between(g, found)
	a := &graphAnswer{Status: "success", TotalNodes: len(found), TotalEdges: len(links), Nodes: []networkNode{}, Edges: []networkEdge{}}
	if len(found) > limit {
		found = found[:limit]
		links = n.between(g, found)
	}
	links = links[:min(len(links), limit*edgesPerNode)]
	a.Truncated = len(found) < a.TotalNodes || len(links) < a.TotalEdges
	for _, f := range found {
		node := n.node(f.ID)
		if depths {
			node.Depth = &f.Depth
		}
		a.Nodes = append(a.Nodes, node)
	}
	edges, err := readEdges(ctx, c.store, links)
	for _, id := range links {
		if e, ok := edges[id]; ok {
			a.Edges = append(a.Edges, e)
		}
	}
	return a, err
}

// between returns the ids of the links between some nodes.
func (n *network) between(g *topology.Graph, nodes []topology.Neighbor) []string {
	found := g.Between(nodes)
	ids := make([]string, len(found))
	for i, at := range found {
		ids[i] = n.links[at].ID
	}
	return ids
}

// pathsAnswer is a response with paths.
type pathsAnswer struct {
	Status    string       `json:"status"`
	Disjoint  string       `json:"disjoint"`
	Truncated bool         `json:"truncated"`
	Paths     []pathAnswer `json:"paths"`
}

type pathAnswer struct {
	Hops  int           `json:"hops"`
	Nodes []networkNode `json:"nodes"`
	Edges []networkEdge `json:"edges"`
}

// The kinds of paths.
const (
	disjointNone  = "none"
	disjointLinks = "link"
	disjointNodes = "node"
)

// paths serves the shortest or the disjoint paths between two devices.
func (c *call) paths() error {
	kind, err := c.choice("disjoint", disjointNone, disjointLinks, disjointNodes)
	if err != nil {
		return err
	}
	state, err := c.choice("state", stateUp, "any")
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 1, maxPaths, defaultPaths)
	if err != nil {
		return err
	}
	devices := records.Of[inventory.Device](c.schema)
	from, err := c.recordID("from", devices)
	if err != nil {
		return err
	}
	to, err := c.recordID("to", devices)
	if err == nil && from == to {
		err = badField("to", "must differ from from")
	}
	if err != nil {
		return err
	}
	return c.answer(state, func(ctx context.Context, n *network, g *topology.Graph) (any, error) {
		found := findPaths(g, kind, from, to, limit+1)
		a := &pathsAnswer{Status: "success", Disjoint: kind, Truncated: len(found) > limit}
		if a.Truncated {
			found = findPaths(g, kind, from, to, limit) // fewer disjoint paths may be shorter ones
		}
		var err error
		a.Paths, err = c.describePaths(ctx, n, found)
		return a, err
	})
}

func findPaths(g *topology.Graph, kind, from, to string, most int) []topology.Path {
	switch kind {
	case disjointLinks:
		return g.Disjoint(from, to, topology.ByLink, most)
	case disjointNodes:
		return g.Disjoint(from, to, topology.ByNode, most)
	}
	return g.Shortest(from, to, most)
}

// describePaths returns paths for a response, without those of which a link has been deleted since.
func (c *call) describePaths(ctx context.Context, n *network, paths []topology.Path) ([]pathAnswer, error) {
	var ids []string
	for _, p := range paths {
		ids = append(ids, p.Links...)
	}
	slices.Sort(ids)
	edges, err := readEdges(ctx, c.store, slices.Compact(ids))
	all := []pathAnswer{}
	for _, p := range paths {
		a := pathAnswer{Hops: len(p.Links), Nodes: []networkNode{}, Edges: []networkEdge{}}
		for _, id := range p.Nodes {
			a.Nodes = append(a.Nodes, n.node(id))
		}
		for _, id := range p.Links {
			if e, ok := edges[id]; ok {
				a.Edges = append(a.Edges, e)
			}
		}
		if len(a.Edges) == len(p.Links) {
			all = append(all, a)
		}
	}
	return all, err
}

// failuresAnswer is a response with single points of failure.
type failuresAnswer struct {
	Status    string          `json:"status"`
	Total     int             `json:"total"`
	Truncated bool            `json:"truncated"`
	Failures  []failureAnswer `json:"failures"`
}

type failureAnswer struct {
	Device   *networkNode  `json:"device"`
	Link     *networkEdge  `json:"link"`
	Parts    int           `json:"parts"`
	CutOff   int           `json:"cut_off"`
	Examples []networkNode `json:"examples"`
}

// failures serves the single points of failure.
func (c *call) failures() error {
	state, err := c.choice("state", stateUp, "any")
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 1, maxFailures, defaultFailures)
	if err != nil {
		return err
	}
	return c.answer(state, func(ctx context.Context, n *network, g *topology.Graph) (any, error) {
		found := g.Failures()
		a := &failuresAnswer{Status: "success", Total: len(found), Truncated: len(found) > limit, Failures: []failureAnswer{}}
		found = found[:min(len(found), limit)]
		var ids []string
		for _, f := range found {
			if f.Link != "" {
				ids = append(ids, f.Link)
			}
		}
		edges, err := readEdges(ctx, c.store, ids)
		for _, f := range found {
			answer := failureAnswer{Parts: f.Parts, CutOff: f.Cut}
			if f.Node != "" {
				answer.Device = new(n.node(f.Node))
			} else if e, ok := edges[f.Link]; ok {
				answer.Link = &e
			} else { // deleted since
				continue
			}
			for _, id := range f.CutOff(maxCutOff) {
				answer.Examples = append(answer.Examples, n.node(id))
			}
			a.Failures = append(a.Failures, answer)
		}
		return a, err
	})
}

// The descriptions of the routes.

func stateParameter(byDefault string) openapi.Parameter {
	s := openapi.String("")
	s.Enum = []any{stateUp, "any"}
	return openapi.Parameter{Name: "state", Schema: s, Description: "Whether to use devices and links that are up only, or any. Default: " + byDefault + "."}
}

func numberParameter(name, description string, least, most, byDefault int) openapi.Parameter {
	s := openapi.Integer("", float64(least))
	s.Maximum, s.Default = new(float64(most)), byDefault
	return openapi.Parameter{Name: name, Schema: s, Description: description}
}

func stateSchema() *openapi.Schema {
	s := openapi.String("")
	s.Enum = []any{stateUp, stateDown}
	return s
}

func nodeSchema() *openapi.Schema {
	location := openapi.ID("")
	location.Type = []string{"string", "null"}
	return openapi.Object("TopologyNode", openapi.Required("id", openapi.ID("The id of the device.")), openapi.Required("hostname", openapi.String("")),
		openapi.Required("status", openapi.String("The status of the device.")), openapi.Required("state", stateSchema()), openapi.Required("location_id", location),
		openapi.Optional("depth", openapi.Integer("How many links it is away from the device or the location that was asked for.", 0)))
}

func edgeSchema() *openapi.Schema {
	end := openapi.Object("TopologyEnd", openapi.Required("device_id", openapi.ID("")), openapi.Required("interface_id", openapi.ID("")),
		openapi.Required("interface", openapi.String("The name of the interface.")))
	return openapi.Object("TopologyEdge", openapi.Required("id", openapi.ID("The id of the link.")), openapi.Required("a", end), openapi.Required("b", end),
		openapi.Required("type", openapi.String("")), openapi.Required("status", openapi.String("The status of the link.")), openapi.Required("state", stateSchema()))
}

func graphSchema() *openapi.Schema {
	return openapi.Object("Topology", openapi.Required("status", openapi.Const("success")),
		openapi.Required("total_nodes", openapi.Integer("The number of devices, also of those that are left out.", 0)),
		openapi.Required("total_edges", openapi.Integer("The number of links between these devices.", 0)),
		openapi.Required("truncated", openapi.Boolean("Whether devices or links are left out.")),
		openapi.Required("nodes", openapi.Array(nodeSchema(), 0, maxNodes)), openapi.Required("edges", openapi.Array(edgeSchema(), 0, maxNodes*edgesPerNode)))
}

func showTopology() operation {
	return operation{openapi.Operation{
		ID: "showTopology", Tag: "topology", Summary: "Show devices and the links between them as a graph",
		Parameters: []openapi.Parameter{
			{Name: "location_id", Schema: openapi.ID(""), Description: "The location of the devices. Default: all devices."},
			numberParameter("depth", "Also devices that are up to so many links away from those of the location.", 0, maxDepth, 0),
			numberParameter("limit", "The maximum number of devices, the nearest first; there are at most four times as many links.", 1, maxNodes, defaultNodes),
			stateParameter("any"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: graphSchema()}},
		Errors:    []int{http.StatusNotFound},
	}, (*call).topology}
}

func showNeighbors() operation {
	return operation{openapi.Operation{
		ID: "showNeighbors", Tag: "topology", Summary: "Show the devices around one device as a graph",
		Parameters: []openapi.Parameter{
			numberParameter("depth", "How many links away a device may be.", 1, maxDepth, 1),
			numberParameter("limit", "The maximum number of devices, the nearest first; there are at most four times as many links.", 1, maxNodes, defaultNodes),
			stateParameter("any"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: graphSchema()}},
	}, (*call).neighbors}
}

func showPaths() operation {
	disjoint := openapi.String("")
	disjoint.Enum = []any{disjointNone, disjointLinks, disjointNodes}
	path := openapi.Object("TopologyPath", openapi.Required("hops", openapi.Integer("The number of links.", 1)),
		openapi.Required("nodes", openapi.Array(nodeSchema(), 2, 0)), openapi.Required("edges", openapi.Array(edgeSchema(), 1, 0)))
	return operation{openapi.Operation{
		ID: "showPaths", Tag: "topology", Summary: "Show the shortest or disjoint paths between two devices",
		Parameters: []openapi.Parameter{
			{Name: "from", Required: true, Schema: openapi.ID(""), Description: "The device where paths begin."},
			{Name: "to", Required: true, Schema: openapi.ID(""), Description: "The device where they end."},
			{Name: "disjoint", Schema: disjoint, Description: "none: the shortest paths; link: paths that share no link; node: paths that share neither a link nor a device between. Default: none."},
			numberParameter("limit", "The maximum number of paths.", 1, maxPaths, defaultPaths),
			stateParameter("up"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("TopologyPaths", openapi.Required("status", openapi.Const("success")),
			openapi.Required("disjoint", disjoint), openapi.Required("truncated", openapi.Boolean("Whether there are more paths.")),
			openapi.Required("paths", openapi.Array(path, 0, maxPaths)))}},
		Errors: []int{http.StatusNotFound},
	}, (*call).paths}
}

func showFailures() operation {
	orNull := func(name string, s *openapi.Schema) *openapi.Schema {
		return &openapi.Schema{Name: name, AnyOf: []*openapi.Schema{s, {Type: "null"}}}
	}
	failure := openapi.Object("TopologyFailure", openapi.Required("device", orNull("TopologyNodeOrNull", nodeSchema())), openapi.Required("link", orNull("TopologyEdgeOrNull", edgeSchema())),
		openapi.Required("parts", openapi.Integer("The number of parts that remain of a connected part of the network.", 2)),
		openapi.Required("cut_off", openapi.Integer("The number of devices outside of the largest of these parts.", 1)),
		openapi.Required("examples", openapi.Array(nodeSchema(), 1, maxCutOff)))
	return operation{openapi.Operation{
		ID: "showFailures", Tag: "topology", Summary: "Show the devices and links whose loss would divide the network",
		Parameters: []openapi.Parameter{
			numberParameter("limit", "The maximum number of failures, those that cut off most first.", 1, maxFailures, defaultFailures),
			stateParameter("up"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("TopologyFailures", openapi.Required("status", openapi.Const("success")),
			openapi.Required("total", openapi.Integer("The number of all failures.", 0)), openapi.Required("truncated", openapi.Boolean("Whether failures are left out.")),
			openapi.Required("failures", openapi.Array(failure, 0, maxFailures)))}},
	}, (*call).failures}
}
