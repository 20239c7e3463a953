package graph

import (
	"fmt"
	"math"
)

// Node is a device.
type Node struct {
	ID   string // unique in a graph
	Down bool   // it passes nothing on
}

// Link connects two nodes, in both directions.
type Link struct {
	ID   string // identifies the link in results
	A, B string // ids of nodes, which may be equal
	Down bool
}

// Graph is a network. It does not change, and is safe for concurrent use. Create it with [New].
type Graph struct {
	nodes []Node
	links []Link
	index map[string]int32 // of a node, by its id
	ends  [][2]int32       // of each link
	first []int32          // the arcs of node i are arcs[first[i]:first[i+1]]
	arcs  []arc
	up    bool // what is down has no arcs
}

// arc is a link as one of its nodes sees it.
type arc struct{ to, link int32 }

// New returns the graph of some nodes and links, which it keeps without copying them. The error names
// a duplicate node, or an end of a link that is no node.
func New(nodes []Node, links []Link) (*Graph, error) {
	if len(nodes) > math.MaxInt32/2-1 || len(links) > math.MaxInt32/2 {
		return nil, fmt.Errorf("a graph of %d nodes and %d links is too large: at most %d", len(nodes), len(links), math.MaxInt32/2-1)
	}
	g := &Graph{nodes: nodes, links: links, index: make(map[string]int32, len(nodes)), ends: make([][2]int32, len(links))}
	for i, n := range nodes {
		if _, ok := g.index[n.ID]; ok {
			return nil, fmt.Errorf("duplicate node %q", n.ID)
		}
		g.index[n.ID] = int32(i)
	}
	for i := range links {
		l := &links[i]
		for end, id := range [2]string{l.A, l.B} {
			n, ok := g.index[id]
			if !ok {
				return nil, fmt.Errorf("link %q has an end %q, which is no node", l.ID, id)
			}
			g.ends[i][end] = n
		}
	}
	g.connect()
	return g, nil
}

// connect sets the arcs of the links. Links of a node with itself have none.
func (g *Graph) connect() {
	g.first = make([]int32, len(g.nodes)+1)
	total := int32(0)
	for i, e := range g.ends {
		if e[0] != e[1] && g.has(i) {
			g.first[e[0]]++
			g.first[e[1]]++
			total += 2
		}
	}
	sum := int32(0)
	for i, n := range g.first {
		sum += n
		g.first[i] = sum // the end, until the arcs are filled in from the end
	}
	g.arcs = make([]arc, total)
	for i := len(g.ends) - 1; i >= 0; i-- {
		a, b := g.ends[i][0], g.ends[i][1]
		if a == b || !g.has(i) {
			continue
		}
		g.first[a]--
		g.arcs[g.first[a]] = arc{b, int32(i)}
		g.first[b]--
		g.arcs[g.first[b]] = arc{a, int32(i)}
	}
}

// Working returns the graph without what is down: links that are down, and all links of nodes that are
// down, which remain as nodes without links.
func (g *Graph) Working() *Graph {
	w := *g
	w.up = true
	w.connect()
	return &w
}

// has reports whether a link is in the graph.
func (g *Graph) has(link int) bool {
	e := g.ends[link]
	return !g.up || !g.links[link].Down && !g.nodes[e[0]].Down && !g.nodes[e[1]].Down
}

// Index returns the position of a node among those that the graph was created with, or false.
func (g *Graph) Index(id string) (int, bool) {
	n, ok := g.index[id]
	return int(n), ok
}

// Between returns the ids of the links of which both ends are among some nodes, in the order of the links.
func (g *Graph) Between(nodes []Neighbor) (ids []string) {
	chosen := make([]bool, len(g.nodes))
	for _, n := range nodes {
		if i, ok := g.index[n.ID]; ok {
			chosen[i] = true
		}
	}
	for i, e := range g.ends {
		if chosen[e[0]] && chosen[e[1]] && g.has(i) {
			ids = append(ids, g.links[i].ID)
		}
	}
	return ids
}

// of returns the arcs of a node.
func (g *Graph) of(n int32) []arc { return g.arcs[g.first[n]:g.first[n+1]] }

// Neighbor is a node and its distance in links.
type Neighbor struct {
	ID    string
	Depth int // 0 for a node that the search began with
}

// Neighbors returns the nodes at most depth links away from one of the given nodes, which come first;
// the others follow by their distance. Ids that are no nodes are ignored, and so are repeated ones. A
// negative depth is 0.
func (g *Graph) Neighbors(depth int, from ...string) []Neighbor {
	seen := make([]bool, len(g.nodes))
	var queue []int32
	var found []Neighbor
	add := func(n int32, depth int) {
		if !seen[n] {
			seen[n] = true
			queue, found = append(queue, n), append(found, Neighbor{g.nodes[n].ID, depth})
		}
	}
	for _, id := range from {
		if n, ok := g.index[id]; ok {
			add(n, 0)
		}
	}
	for i := 0; i < len(queue) && found[i].Depth < depth; i++ {
		for _, a := range g.of(queue[i]) {
			add(a.to, found[i].Depth+1)
		}
	}
	return found
}
