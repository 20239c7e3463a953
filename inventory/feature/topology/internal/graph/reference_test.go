package graph_test

import (
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
)

// network is a graph and its simple form for the reference, which removes things and searches.
type network struct {
	*graph.Graph
	nodes []graph.Node
	links []graph.Link
	at    map[string][]graph.Link // the links of a node
}

func newNetwork(t testing.TB, nodes []graph.Node, links []graph.Link) *network {
	t.Helper()
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{g, nodes, links, map[string][]graph.Link{}}
	for _, l := range links {
		n.at[l.A], n.at[l.B] = append(n.at[l.A], l), append(n.at[l.B], l)
	}
	return n
}

// part returns the nodes that one is connected with, itself included, without a node and a link.
func (n *network) part(from, node, link string) map[string]bool {
	part := map[string]bool{from: true}
	for todo := []string{from}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, l := range n.at[last] {
			for _, next := range []string{l.A, l.B} {
				if l.ID != link && next != node && !part[next] {
					part[next], todo = true, append(todo, next)
				}
			}
		}
	}
	return part
}

// parts returns the parts that a part of the network falls into without a node and a link.
func (n *network) parts(of map[string]bool, node, link string) (parts []map[string]bool) {
	seen := map[string]bool{node: true}
	for _, x := range n.nodes {
		if !of[x.ID] || seen[x.ID] {
			continue
		}
		part := n.part(x.ID, node, link)
		parts = append(parts, part)
		for id := range part {
			seen[id] = true
		}
	}
	return parts
}

// checkFailures compares the failures with the loss of each node and each link.
func (n *network) checkFailures(t *testing.T) {
	t.Helper()
	found := map[[2]string]graph.Failure{}
	last := len(n.nodes)
	for _, f := range n.Failures() {
		found[[2]string{f.Node, f.Link}] = f
		if f.Cut > last {
			t.Errorf("%s%s, which cuts off %d nodes, is behind one that cuts off %d", f.Node, f.Link, f.Cut, last)
		}
		last = f.Cut
	}
	check := func(node, link, in string) {
		parts := n.parts(n.part(in, "", ""), node, link)
		f, ok := found[[2]string{node, link}]
		delete(found, [2]string{node, link})
		if !ok || len(parts) < 2 {
			if ok != (len(parts) > 1) {
				t.Errorf("the loss of %s%s leaves %d parts, and is a failure: %t", node, link, len(parts), ok)
			}
			return
		}
		total, largest := 0, 0
		for _, p := range parts {
			total, largest = total+len(p), max(largest, len(p))
		}
		if f.Parts != len(parts) || f.Cut != total-largest {
			t.Errorf("the loss of %s%s leaves %d parts without %d, want %d without %d", node, link, f.Parts, f.Cut, len(parts), total-largest)
		}
		off := f.CutOff(len(n.nodes))
		kept := 0
		for _, p := range parts {
			inside := 0
			for _, id := range off {
				if p[id] {
					inside++
				}
			}
			switch {
			case inside == 0 && len(p) == largest:
				kept++
			case inside != len(p):
				t.Errorf("the loss of %s%s cuts off %d of a part of %d nodes", node, link, inside, len(p))
			}
		}
		if kept != 1 || len(off) != f.Cut {
			t.Errorf("the loss of %s%s cuts off %d nodes, want %d, and keeps %d parts", node, link, len(off), f.Cut, kept)
		}
		if few := f.CutOff(1); !slices.Equal(few, off[:1]) {
			t.Errorf("the first node that %s%s cuts off is %q of %q", node, link, few, off)
		}
	}
	for _, x := range n.nodes {
		check(x.ID, "", x.ID)
	}
	for _, l := range n.links {
		check("", l.ID, l.A)
	}
	if len(found) > 0 {
		t.Errorf("failures of unknown nodes and links: %v", found)
	}
}

// checkNeighbors compares the neighbours of a node with those of repeated steps.
func (n *network) checkNeighbors(t *testing.T, from string, depth int) {
	t.Helper()
	want := map[string]int{from: 0}
	for d := 1; d <= depth; d++ {
		for _, l := range n.links {
			for _, ends := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
				at, ok := want[ends[0]]
				if _, known := want[ends[1]]; ok && at == d-1 && !known {
					want[ends[1]] = d
				}
			}
		}
	}
	got := n.Neighbors(depth, from, from, "unknown")
	last := 0
	for _, x := range got {
		if d, ok := want[x.ID]; !ok || d != x.Depth || d < last {
			t.Errorf("%s is %d links from %s, behind one at %d; want %d (%t)", x.ID, x.Depth, from, last, d, ok)
		}
		last = x.Depth
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d neighbours to depth %d, want %d", from, len(got), depth, len(want))
	}
}

// distances are those from a node, by repeated relaxation of all links.
func (n *network) distances(from string) map[string]int64 {
	distance := map[string]int64{from: 0}
	for changed := true; changed; {
		changed = false
		for _, l := range n.links {
			for _, ends := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
				d, ok := distance[ends[0]]
				if known, reached := distance[ends[1]]; ok && (!reached || d+1 < known) {
					distance[ends[1]], changed = d+1, true
				}
			}
		}
	}
	return distance
}

// checkPath checks that a path leads from one node to another without a repetition.
func (n *network) checkPath(t *testing.T, p graph.Path, from, to string) {
	t.Helper()
	seen := map[string]bool{from: true}
	at, total := from, int64(0)
	for i, id := range p.Links {
		j := slices.IndexFunc(n.links, func(l graph.Link) bool { return l.ID == id })
		if j < 0 || n.links[j].A != at && n.links[j].B != at {
			t.Errorf("the path %v does not continue at %s with %s", p, at, id)
			return
		}
		l := n.links[j]
		if at = l.A; at == p.Nodes[i] {
			at = l.B
		}
		total += 1
		if at != p.Nodes[i+1] || seen[at] {
			t.Errorf("the path %v does not lead to %s, or passes it twice", p, at)
		}
		seen[at] = true
	}
	if at != to || p.Nodes[0] != from || len(p.Nodes) != len(p.Links)+1 || total != int64(len(p.Links)) {
		t.Errorf("the path %v is not one from %s to %s of %d links", p, from, to, total)
	}
}

// checkShortest compares the shortest paths with the distances from both ends.
func (n *network) checkShortest(t *testing.T, from, to string) {
	t.Helper()
	const most = 50
	there, back := n.distances(from), n.distances(to)
	want, reachable := there[to]
	count := map[string]int{from: 1} // of the shortest paths from the first node, at most the bound
	for changed := true; changed; {
		changed = false
		for _, x := range n.nodes {
			total := 0
			for _, l := range n.links {
				for _, ends := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
					if ends[1] == x.ID && l.A != l.B && there[ends[0]]+1+back[x.ID] == want {
						total += count[ends[0]]
					}
				}
			}
			if total = min(total, most); reachable && x.ID != from && total != count[x.ID] {
				count[x.ID], changed = total, true
			}
		}
	}
	paths := n.Shortest(from, to, most)
	if !reachable && len(paths) > 0 || reachable && len(paths) != count[to] {
		t.Errorf("%d shortest paths from %s to %s, want %d", len(paths), from, to, count[to])
	}
	seen := map[string]bool{}
	for _, p := range paths {
		n.checkPath(t, p, from, to)
		key := ""
		for _, l := range p.Links {
			key += l + " "
		}
		if int64(len(p.Links)) != want || seen[key] {
			t.Errorf("the path %v has not %d links, or occurs twice", p, want)
		}
		seen[key] = true
	}
}

// residual is an arc of the flow of the reference, which has one for each direction of a link, each
// with an arc back.
type residual struct {
	from, to int
	cost     int64
	free     int // how many more paths may use it
}

// leastFlow returns the number and the total length of disjoint paths: augmenting paths of least cost,
// each found by relaxing all arcs. By node, a node is two, with one arc between them.
func (n *network) leastFlow(from, to string, by graph.Disjointness) (paths int, total int64) {
	index := map[string]int{}
	for i, x := range n.nodes {
		index[x.ID] = i
	}
	var arcs []residual
	add := func(a, b int, cost int64, paths int) {
		arcs = append(arcs, residual{a, b, cost, paths}, residual{b, a, -cost, 0})
	}
	for i, x := range n.nodes {
		through := 1
		if by == graph.ByLink || x.ID == from || x.ID == to {
			through = len(n.links)
		}
		add(2*i, 2*i+1, 0, through)
	}
	for _, l := range n.links {
		a, b := index[l.A], index[l.B]
		add(2*a+1, 2*b, 1, 1)
		add(2*b+1, 2*a, 1, 1)
	}
	source, goal := 2*index[from], 2*index[to]+1
	for {
		distance, by := map[int]int64{source: 0}, map[int]int{}
		for changed := true; changed; {
			changed = false
			for i, a := range arcs {
				d, ok := distance[a.from]
				if known, reached := distance[a.to]; a.free > 0 && ok && (!reached || d+a.cost < known) {
					distance[a.to], by[a.to], changed = d+a.cost, i, true
				}
			}
		}
		if _, ok := distance[goal]; !ok {
			return paths, total
		}
		for at := goal; at != source; at = arcs[by[at]].from {
			arcs[by[at]].free--
			arcs[by[at]^1].free++
		}
		paths, total = paths+1, total+distance[goal]
	}
}

// checkDisjoint compares disjoint paths with the flow of the reference.
func (n *network) checkDisjoint(t *testing.T, from, to string, by graph.Disjointness) {
	t.Helper()
	paths := n.Disjoint(from, to, by, len(n.links))
	var total int64
	seen := map[string]bool{}
	for i, p := range paths {
		n.checkPath(t, p, from, to)
		total += int64(len(p.Links))
		if i > 0 && len(p.Links) < len(paths[i-1].Links) {
			t.Errorf("%v is behind a longer path", p)
		}
		ids := p.Links
		if by == graph.ByNode {
			ids = slices.Concat(ids, p.Nodes[1:len(p.Nodes)-1])
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("two paths from %s to %s share %s", from, to, id)
			}
			seen[id] = true
		}
	}
	want, least := n.leastFlow(from, to, by)
	if len(paths) != want || total != least {
		t.Errorf("%d disjoint paths (%d) from %s to %s of %d links, want %d of %d", len(paths), by, from, to, total, want, least)
	}
}
