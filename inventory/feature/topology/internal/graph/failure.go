package graph

import (
	"cmp"
	"slices"
)

// Failure is a node or a link whose loss divides a connected part of the network.
type Failure struct {
	Node, Link string // its id; the other one is empty
	// Parts is the number of parts that remain, at least 2.
	Parts int
	// Cut is the number of nodes that the largest of these parts does not have: what is cut off. Of
	// parts of the same size any one counts as the largest.
	Cut int

	network *Graph
	order   []int32 // all nodes, so that what is cut off are a few spans
	spans   []span  // of what is cut off, and the node between
	lost    int32   // its position in the order; negative for a link
}

// span is a range of an order: from the first to before the last.
type span struct{ first, last int32 }

func (s span) size() int { return int(s.last - s.first) }

// CutOff returns the ids of nodes that are cut off, at most the given number.
func (f *Failure) CutOff(most int) []string {
	ids := []string{}
	for _, s := range f.spans {
		for at := s.first; at < s.last && len(ids) < most; at++ {
			if at != f.lost {
				ids = append(ids, f.network.nodes[f.order[at]].ID)
			}
		}
	}
	return ids
}

// Failures returns the single points of failure: nodes (articulation points) and links (bridges). Those
// that cut off most come first; of these the nodes.
func (g *Graph) Failures() []Failure {
	n := len(g.nodes)
	w := &walk{
		Graph: g, order: make([]int32, 0, n), at: slices.Repeat([]int32{-1}, n), low: make([]int32, n), last: make([]int32, n), cuts: make([][]span, n),
	}
	var all []Failure
	for root := range g.nodes {
		if w.at[root] < 0 {
			all = w.component(int32(root), all)
		}
	}
	for i := range all {
		all[i].network, all[i].order = g, w.order
	}
	slices.SortStableFunc(all, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Cut, a.Cut), cmp.Compare(min(len(a.Link), 1), min(len(b.Link), 1)))
	})
	return all
}

// walk is a depth-first search. Each subtree is a span of its order.
type walk struct {
	*Graph
	order []int32 // the nodes as they were found
	at    []int32 // the position of a node in order; -1 if it was not found yet
	low   []int32 // the least position that a subtree has a link to
	last  []int32 // the end of the span of a subtree
	cuts  [][]span
	stack []visit
}

// visit is a node whose arcs are being followed.
type visit struct {
	node, by int32 // by is the link that led to it; -1 for the root
	next     int32 // the position of the next arc
}

// component walks the part of the network with a node, and appends its failures.
func (w *walk) component(root int32, all []Failure) []Failure {
	whole := span{first: int32(len(w.order))}
	var bridges []int32 // the nodes after them, and the links
	w.enter(root, -1)
	for len(w.stack) > 0 {
		v := &w.stack[len(w.stack)-1]
		if v.next < w.first[v.node+1] {
			a := w.arcs[v.next]
			v.next++
			switch {
			case a.link == v.by:
			case w.at[a.to] < 0:
				w.enter(a.to, a.link)
			default:
				w.low[v.node] = min(w.low[v.node], w.at[a.to])
			}
			continue
		}
		n, by := v.node, v.by
		w.last[n] = int32(len(w.order))
		w.stack = w.stack[:len(w.stack)-1]
		if len(w.stack) == 0 {
			break
		}
		parent := w.stack[len(w.stack)-1].node
		w.low[parent] = min(w.low[parent], w.low[n])
		if w.low[n] >= w.at[parent] {
			w.cuts[parent] = append(w.cuts[parent], span{w.at[n], w.last[n]})
		}
		if w.low[n] > w.at[parent] {
			bridges = append(bridges, n, by)
		}
	}
	whole.last = int32(len(w.order))
	for _, n := range w.order[whole.first:whole.last] {
		if f, ok := divide(whole, w.at[n], w.cuts[n]); ok {
			f.Node = w.nodes[n].ID
			all = append(all, f)
		}
		w.cuts[n] = nil
	}
	for i := 0; i < len(bridges); i += 2 {
		n := bridges[i]
		f, _ := divide(whole, -1, []span{{w.at[n], w.last[n]}})
		f.Link = w.links[bridges[i+1]].ID
		all = append(all, f)
	}
	return all
}

func (w *walk) enter(n, by int32) {
	w.at[n] = int32(len(w.order))
	w.low[n] = w.at[n]
	w.order = append(w.order, n)
	w.stack = append(w.stack, visit{n, by, w.first[n]})
}

// divide returns the failure that divides the span of a component, without the position of a lost node
// unless it is negative, into some of its spans and the rest. It reports whether there are several parts.
func divide(whole span, lost int32, parts []span) (f Failure, ok bool) {
	total := whole.size()
	if lost >= 0 {
		total--
	}
	rest := total
	for _, p := range parts {
		rest -= p.size()
	}
	largest, keep := rest, -1 // keep is the largest part; -1 is the rest
	for i, p := range parts {
		if p.size() > largest {
			largest, keep = p.size(), i
		}
	}
	f = Failure{Parts: len(parts), Cut: total - largest, lost: lost, spans: parts}
	if rest > 0 {
		f.Parts++
	}
	if keep >= 0 {
		f.spans = []span{{whole.first, parts[keep].first}, {parts[keep].last, whole.last}}
	}
	return f, f.Parts > 1
}
