// Package topology is the feature of an inventory that shows its devices and links as a graph: neighbors, paths,
// and single points of failure.
//
// Package graph has the algorithms, without records.
package topology

import (
	"context"
	"net/http"
	"slices"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/netmap"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
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

// New returns the feature.
func New() *feature.Feature {
	operations := []feature.Operation{
		{Operation: showTopology(), Handle: topology},
		{Operation: showPaths(), Handle: paths},
		{Operation: showFailures(), Handle: failures},
		{Operation: showNeighbors(), Handle: neighbors},
	}
	for i := range operations {
		operations[i].Access, operations[i].Scoped = auth.Permission{Everyone: true}, true
		operations[i].Lists = []string{"devices", "interfaces", "links"}
	}
	return &feature.Feature{
		Needs:      map[string]records.Record{"devices": &inventory.Device{}, "interfaces": &inventory.Interface{}, "links": &inventory.Link{}},
		Operations: operations,
		Tags:       map[string]string{"topology": "Devices and links as a graph."},
		Pages:      netmap.Pages(),
		State: func(store records.Store) any {
			from := records.Fresh(store)
			chain, ok := from.(records.AuditChain)
			if !ok {
				return (*networkCache)(nil) // the store keeps no chain of its audit log
			}
			return &networkCache{lock: make(chan struct{}, 1), from: from, chain: chain}
		},
	}
}

// read returns the network that the sender may see, and its graph with what is down or without. That
// of a limited sender is read each time, so that the store decides about each record.
func read(ctx context.Context, r *feature.Request, state string) (*network, *graph.Graph, error) {
	var n *network
	var working *graph.Graph
	var err error
	if cache := r.State.(*networkCache); r.Inventory.SeesAll() && cache != nil {
		n, working, err = cache.network(ctx)
	} else if n, err = readNetwork(ctx, r.Inventory.Records(), httpx.Reserve); err == nil {
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

// answer responds to a question about the network, which is answered in its turn.
func answer(ctx context.Context, r *feature.Request, state string, ask func(ctx context.Context, n *network, g *graph.Graph) (any, error)) (*feature.Response, error) {
	res := &feature.Response{Status: http.StatusOK}
	return res, r.Inventory.Read(ctx, func(ctx context.Context) error {
		n, g, err := read(ctx, r, state)
		if err == nil {
			res.Body, err = ask(ctx, n, g)
		}
		if a, ok := res.Body.(*graphAnswer); ok && err == nil {
			res.Body, res.Send = nil, a.send
		}
		return err
	})
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

func readQuery(r *feature.Request, leastDepth int) (q topologyQuery, err error) {
	if q.state, err = r.Choice("state", "any", stateUp); err != nil {
		return q, err
	}
	if q.depth, err = r.Number("depth", leastDepth, maxDepth, leastDepth); err != nil {
		return q, err
	}
	q.limit, err = r.Number("limit", 1, maxNodes, defaultNodes)
	return q, err
}

// topology serves the network, or that of a location and what is near it.
func topology(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	q, err := readQuery(r, 0)
	if err != nil {
		return nil, err
	}
	location := ""
	if r.Query.Has("location_id") {
		if err := r.Inventory.May(records.Of[inventory.Location](r.Inventory.Records().Schema()), records.RouteList); err != nil {
			return nil, err
		}
		if location, err = r.Find(ctx, "location_id", records.Of[inventory.Location](r.Inventory.Records().Schema())); err != nil {
			return nil, err
		}
	} else if r.Query.Has("depth") {
		return nil, records.Refuse("depth", records.NotAllowed("without location_id"))
	}
	return answer(ctx, r, q.state, func(ctx context.Context, n *network, g *graph.Graph) (any, error) {
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
		return describeGraph(ctx, r, n, g, g.Neighbors(q.depth, from...), q.limit, location != "")
	})
}

// neighbors serves the part of the network around a device.
func neighbors(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	id, err := r.Find(ctx, "id", records.Of[inventory.Device](r.Inventory.Records().Schema()))
	if err != nil {
		return nil, err
	}
	q, err := readQuery(r, 1)
	if err != nil {
		return nil, err
	}
	return answer(ctx, r, q.state, func(ctx context.Context, n *network, g *graph.Graph) (any, error) {
		return describeGraph(ctx, r, n, g, g.Neighbors(q.depth, id), q.limit, true)
	})
}

// describeGraph returns some nodes and the links between them for a response: the first nodes, which
// are the nearest ones, if there are too many.
func describeGraph(ctx context.Context, r *feature.Request, n *network, g *graph.Graph, found []graph.Neighbor, limit int, depths bool) (*graphAnswer, error) {
	links := g.Between(found)
	a := &graphAnswer{Status: "success", TotalNodes: len(found), TotalEdges: len(links), Nodes: []networkNode{}, Edges: []networkEdge{}}
	if len(found) > limit {
		found = found[:limit]
		links = g.Between(found)
	}
	links = links[:min(len(links), limit*edgesPerNode)]
	a.Truncated = len(found) < a.TotalNodes || len(links) < a.TotalEdges
	if err := httpx.Reserve(ctx, int64(len(found)*nodeShownBytes+len(links)*edgeShownBytes)); err != nil {
		return nil, err
	}
	for _, f := range found {
		node := n.node(f.ID)
		if depths {
			node.Depth = &f.Depth
		}
		a.Nodes = append(a.Nodes, node)
	}
	edges, err := readEdges(ctx, r.Inventory.Records(), links)
	for _, id := range links {
		if e, ok := edges[id]; ok {
			a.Edges = append(a.Edges, e)
		}
	}
	return a, err
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
func paths(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	kind, err := r.Choice("disjoint", disjointNone, disjointLinks, disjointNodes)
	if err != nil {
		return nil, err
	}
	state, err := r.Choice("state", stateUp, "any")
	if err != nil {
		return nil, err
	}
	limit, err := r.Number("limit", 1, maxPaths, defaultPaths)
	if err != nil {
		return nil, err
	}
	devices := records.Of[inventory.Device](r.Inventory.Records().Schema())
	from, err := r.Find(ctx, "from", devices)
	if err != nil {
		return nil, err
	}
	to, err := r.Find(ctx, "to", devices)
	if err == nil && from == to {
		err = records.Refuse("to", records.Inconsistent("another device than from"))
	}
	if err != nil {
		return nil, err
	}
	return answer(ctx, r, state, func(ctx context.Context, n *network, g *graph.Graph) (any, error) {
		found := findPaths(g, kind, from, to, limit+1)
		a := &pathsAnswer{Status: "success", Disjoint: kind, Truncated: len(found) > limit}
		if a.Truncated {
			found = findPaths(g, kind, from, to, limit) // fewer disjoint paths may be shorter ones
		}
		var err error
		a.Paths, err = describePaths(ctx, r, n, found)
		return a, err
	})
}

func findPaths(g *graph.Graph, kind, from, to string, most int) []graph.Path {
	switch kind {
	case disjointLinks:
		return g.Disjoint(from, to, graph.ByLink, most)
	case disjointNodes:
		return g.Disjoint(from, to, graph.ByNode, most)
	}
	return g.Shortest(from, to, most)
}

// describePaths returns paths for a response, without those of which a link has been deleted since.
func describePaths(ctx context.Context, r *feature.Request, n *network, paths []graph.Path) ([]pathAnswer, error) {
	var ids []string
	for _, p := range paths {
		ids = append(ids, p.Links...)
	}
	slices.Sort(ids)
	edges, err := readEdges(ctx, r.Inventory.Records(), slices.Compact(ids))
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
func failures(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	state, err := r.Choice("state", stateUp, "any")
	if err != nil {
		return nil, err
	}
	limit, err := r.Number("limit", 1, maxFailures, defaultFailures)
	if err != nil {
		return nil, err
	}
	return answer(ctx, r, state, func(ctx context.Context, n *network, g *graph.Graph) (any, error) {
		found := g.Failures()
		a := &failuresAnswer{Status: "success", Total: len(found), Truncated: len(found) > limit, Failures: []failureAnswer{}}
		found = found[:min(len(found), limit)]
		var ids []string
		for _, f := range found {
			if f.Link != "" {
				ids = append(ids, f.Link)
			}
		}
		edges, err := readEdges(ctx, r.Inventory.Records(), ids)
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
		openapi.Required("role", openapi.String("The role of the device.")), openapi.Required("status", openapi.String("The status of the device.")), openapi.Required("state", stateSchema()), openapi.Required("location_id", location),
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

func showTopology() openapi.Operation {
	return openapi.Operation{
		Method: http.MethodGet, Path: "/topology",
		ID: "showTopology", Tag: "topology", Summary: "Show devices and the links between them as a graph",
		Parameters: []openapi.Parameter{
			{Name: "location_id", Schema: openapi.ID(""), Description: "The location of the devices. Default: all devices."},
			numberParameter("depth", "Also devices that are up to so many links away from those of the location.", 0, maxDepth, 0),
			numberParameter("limit", "The maximum number of devices, the nearest first; there are at most four times as many links.", 1, maxNodes, defaultNodes),
			stateParameter("any"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: graphSchema()}},
		Errors:    []int{http.StatusNotFound},
	}
}

func showNeighbors() openapi.Operation {
	return openapi.Operation{
		Method: http.MethodGet, Path: "/devices/{id}/neighbors",
		ID: "showNeighbors", Tag: "topology", Summary: "Show the devices around one device as a graph",
		Parameters: []openapi.Parameter{
			numberParameter("depth", "How many links away a device may be.", 1, maxDepth, 1),
			numberParameter("limit", "The maximum number of devices, the nearest first; there are at most four times as many links.", 1, maxNodes, defaultNodes),
			stateParameter("any"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: graphSchema()}},
	}
}

func showPaths() openapi.Operation {
	disjoint := openapi.String("")
	disjoint.Enum = []any{disjointNone, disjointLinks, disjointNodes}
	path := openapi.Object("TopologyPath", openapi.Required("hops", openapi.Integer("The number of links.", 1)),
		openapi.Required("nodes", openapi.Array(nodeSchema(), 2, 0)), openapi.Required("edges", openapi.Array(edgeSchema(), 1, 0)))
	return openapi.Operation{
		Method: http.MethodGet, Path: "/topology/path",
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
	}
}

func showFailures() openapi.Operation {
	orNull := func(name string, s *openapi.Schema) *openapi.Schema {
		return &openapi.Schema{Name: name, AnyOf: []*openapi.Schema{s, {Type: "null"}}}
	}
	failure := openapi.Object("TopologyFailure", openapi.Required("device", orNull("TopologyNodeOrNull", nodeSchema())), openapi.Required("link", orNull("TopologyEdgeOrNull", edgeSchema())),
		openapi.Required("parts", openapi.Integer("The number of parts that remain of a connected part of the network.", 2)),
		openapi.Required("cut_off", openapi.Integer("The number of devices outside of the largest of these parts.", 1)),
		openapi.Required("examples", openapi.Array(nodeSchema(), 1, maxCutOff)))
	return openapi.Operation{
		Method: http.MethodGet, Path: "/topology/failures",
		ID: "showFailures", Tag: "topology", Summary: "Show the devices and links whose loss would divide the network",
		Parameters: []openapi.Parameter{
			numberParameter("limit", "The maximum number of failures, those that cut off most first.", 1, maxFailures, defaultFailures),
			stateParameter("up"),
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("TopologyFailures", openapi.Required("status", openapi.Const("success")),
			openapi.Required("total", openapi.Integer("The number of all failures.", 0)), openapi.Required("truncated", openapi.Boolean("Whether failures are left out.")),
			openapi.Required("failures", openapi.Array(failure, 0, maxFailures)))}},
	}
}
