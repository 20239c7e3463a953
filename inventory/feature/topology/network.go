package topology

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxNetwork is the maximum number of devices, and of links, of a network: some 100 MB.
const maxNetwork = 500_000

// network is the graph of the devices and links that the sender may see.
type network struct {
	*graph.Graph
	nodes []networkNode
}

// networkNode is a device of a network, in a response too.
type networkNode struct {
	ID         string  `json:"id"`
	Hostname   string  `json:"hostname"`
	Role       string  `json:"role"`
	Status     string  `json:"status"`
	State      string  `json:"state"`
	LocationID *string `json:"location_id"`
	Depth      *int    `json:"depth,omitempty"`
}

// networkEdge is a link of a network in a response.
type networkEdge struct {
	ID     string     `json:"id"`
	A      networkEnd `json:"a"`
	B      networkEnd `json:"b"`
	Type   string     `json:"type"`
	Status string     `json:"status"`
	State  string     `json:"state"`
}

// networkEnd is an end of a link.
type networkEnd struct {
	DeviceID    string `json:"device_id"`
	InterfaceID string `json:"interface_id"`
	Interface   string `json:"interface"`
}

// The states of devices and links.
const (
	stateUp   = "up"
	stateDown = "down"
)

func stateOf(down bool) string {
	if down {
		return stateDown
	}
	return stateUp
}

// linkStatuses are the columns that decide whether a link is up.
func linkStatuses() []string {
	return []string{
		"status", "a_interface_id.status", "a_interface_id.admin_status", "a_interface_id.oper_status",
		"b_interface_id.status", "b_interface_id.admin_status", "b_interface_id.oper_status",
	}
}

// linkDown reports whether one of the statuses of a link and of its interfaces says that it passes nothing on.
func linkDown(statuses []string) bool {
	return slices.ContainsFunc(statuses, func(s string) bool { return inventory.LinkStatus(s).Stops() })
}

// send writes the answer piece by piece: as a whole its JSON would take more memory than the answer.
func (a *graphAnswer) send(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `{"status":"success","total_nodes":%d,"total_edges":%d,"truncated":%t,"nodes":`, a.TotalNodes, a.TotalEdges, a.Truncated)
	sendArray(out, a.Nodes)
	_, _ = out.WriteString(`,"edges":`)
	sendArray(out, a.Edges)
	_, _ = out.WriteString("}\n")
	_ = out.Flush() // the error of a client that has gone
	return nil
}

func sendArray[T any](out *bufio.Writer, all []T) {
	separator := byte('[')
	for i := range all {
		_ = out.WriteByte(separator)
		text, _ := json.Marshal(&all[i]) // it can be encoded
		_, _ = out.Write(text)
		separator = ','
	}
	if len(all) == 0 {
		_ = out.WriteByte(separator)
	}
	_ = out.WriteByte(']')
}

// tooLarge is the error for a network of more than maxNetwork records.
func tooLarge(r *records.Resource) error {
	return &httpx.Error{
		Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"3600"}},
		Message: fmt.Sprintf("There are more than %d %s, too many for a question about the whole network", maxNetwork, r.Name),
	}
}

// The memory of a network and of an answer, in bytes.
const (
	nodeBytes, linkBytes           = 500, 200
	nodeShownBytes, edgeShownBytes = 200, 600
	heldAtOnce                     = 1 << 20
)

// readNetwork reads the network of a reader, in the order of ids, which is that of creation. hold is called before it
// takes more memory; nil is for memory that belongs to no request.
func readNetwork(ctx context.Context, from records.Reader, hold func(ctx context.Context, bytes int64) error) (*network, error) {
	n := &network{}
	held := int64(0)
	grow := func(bytes int64) error {
		if held -= bytes; hold == nil || held >= 0 {
			return nil
		}
		held += heldAtOnce
		return hold(ctx, heldAtOnce)
	}
	devices := records.Of[inventory.Device](from.Schema())
	err := records.Project(ctx, from, &records.Query{Resource: devices}, []string{"id", "hostname", "status", "location_id", "role"}, func(v []string) error {
		if len(n.nodes) == maxNetwork {
			return tooLarge(devices)
		}
		node := networkNode{ID: v[0], Hostname: v[1], Role: v[4], Status: v[2], State: stateOf(v[2] == string(inventory.DeviceOffline) || v[2] == string(inventory.DeviceDecommissioned))}
		if v[3] != "" {
			node.LocationID = new(v[3])
		}
		n.nodes = append(n.nodes, node)
		return grow(nodeBytes)
	})
	if err != nil {
		return nil, tellTooLarge(err)
	}
	slices.SortFunc(n.nodes, func(a, b networkNode) int { return strings.Compare(a.ID, b.ID) })
	nodes := make([]graph.Node, len(n.nodes))
	index := make(map[string]int, len(n.nodes))
	for i := range n.nodes {
		id := n.nodes[i].ID
		nodes[i] = graph.Node{ID: id, Down: n.nodes[i].State == stateDown}
		index[id] = i
	}
	resource := records.Of[inventory.Link](from.Schema())
	var links []graph.Link
	columns := append([]string{"id", "a_interface_id.device_id", "b_interface_id.device_id"}, linkStatuses()...)
	err = records.Project(ctx, from, &records.Query{Resource: resource}, columns, func(v []string) error {
		if len(links) == maxNetwork {
			return tooLarge(resource)
		}
		a, ok := index[v[1]]
		b, ok2 := index[v[2]]
		if ok && ok2 { // else a device was created since, or deleted before
			links = append(links, graph.Link{ID: v[0], A: nodes[a].ID, B: nodes[b].ID, Down: linkDown(v[3:])})
		}
		return grow(linkBytes)
	})
	if err == nil {
		slices.SortFunc(links, func(a, b graph.Link) int { return strings.Compare(a.ID, b.ID) })
		n.Graph, err = graph.New(nodes, links)
	}
	return n, tellTooLarge(err)
}

// tellTooLarge returns the error of tooLarge without what a store has added to it.
func tellTooLarge(err error) error {
	if e, ok := errors.AsType[*httpx.Error](err); ok {
		return e
	}
	return err
}

// node returns a device for a response.
func (n *network) node(id string) networkNode {
	i, _ := n.Index(id)
	return n.nodes[i]
}

// maxEdgeQuery is the maximum number of links that one query reads.
const maxEdgeQuery = 512

// readEdges reads links for a response, by their ids. Those that have been deleted are missing.
func readEdges(ctx context.Context, from records.Reader, ids []string) (map[string]networkEdge, error) {
	edges := make(map[string]networkEdge, len(ids))
	links := records.Of[inventory.Link](from.Schema())
	columns := append([]string{
		"id", "type", "a_interface_id", "a_interface_id.name", "a_interface_id.device_id", "b_interface_id", "b_interface_id.name", "b_interface_id.device_id",
	}, linkStatuses()...)
	for few := range slices.Chunk(ids, maxEdgeQuery) {
		err := records.Project(ctx, from, (&records.Query{Resource: links}).WhereIn("id", few), columns, func(v []string) error {
			edges[v[0]] = networkEdge{
				ID: v[0], Type: v[1], A: networkEnd{InterfaceID: v[2], Interface: v[3], DeviceID: v[4]}, B: networkEnd{InterfaceID: v[5], Interface: v[6], DeviceID: v[7]},
				Status: v[8], State: stateOf(linkDown(v[8:])),
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return edges, nil
}
