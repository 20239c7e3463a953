package graph

import (
	"math"
	"slices"
)

// Disjointness says what disjoint paths do not share.
type Disjointness int

const (
	// ByLink: paths share no link, so that one of them survives the loss of any one link.
	ByLink Disjointness = iota
	// ByNode: paths share no link and no node but their ends, so that one of them also survives the
	// loss of any one node between.
	ByNode
)

// Disjoint returns as many disjoint paths between two nodes as there are, but at most the given number.
// Of all sets of so many paths it is one with the fewest links in total, so a path of it may be longer than
// the shortest path. The shortest one is first. Without a path, and from a node to itself, there are none.
func (g *Graph) Disjoint(from, to string, by Disjointness, most int) []Path {
	s, ok := g.index[from]
	t, ok2 := g.index[to]
	if !ok || !ok2 || s == t {
		return nil
	}
	states := 2 * len(g.nodes)
	f := &flow{
		Graph: g, s: s, t: t, byNode: by == ByNode,
		used: slices.Repeat([]int8{unused}, len(g.links)), through: make([]bool, len(g.nodes)),
		potential: make([]int32, states), distance: make([]int32, states), before: make([]step, states),
	}
	n := 0
	for n < most && f.augment() {
		n++
	}
	paths := make([]Path, n)
	for i := range paths {
		paths[i] = g.path(s, f.removePath())
	}
	slices.SortStableFunc(paths, func(a, b Path) int { return len(a.Links) - len(b.Links) })
	return paths
}

// flow is a set of disjoint paths from s to t, as a flow of least cost.
//
// Its searches go through states. A node has the state in, which paths arrive at, and out, which they
// leave from. By link both are the same, out. By node only one path may get from in to out.
type flow struct {
	*Graph
	s, t   int32
	byNode bool

	used    []int8 // of each link: unused, or the end to which a path leads
	through []bool // of each node: whether a path passes; by node only

	potential []int32 // of each state, by which no reduced cost is negative
	distance  []int32 // of each state
	before    []step  // to each state
}

// The values of flow.used.
const (
	unused int8 = iota - 1
	towardsA
	towardsB
)

// step records the way of a search to a state: by a link, or without one within a node.
type step struct{ state, link int32 }

// in and out return the states of a node. A path begins at the out of s and ends at the in of t.
func (f *flow) in(n int32) int32 {
	if f.byNode {
		return 2 * n
	}
	return f.out(n)
}

func (f *flow) out(n int32) int32 { return 2*n + 1 }

// towards returns the value of flow.used for a link that leads to a node.
func (f *flow) towards(link, n int32) int8 {
	if f.ends[link][0] == n {
		return towardsA
	}
	return towardsB
}

// augment adds one more path, which may take links back from the others, and reports whether there is
// one.
func (f *flow) augment() bool {
	for i := range f.distance {
		f.distance[i] = math.MaxInt32
	}
	start, goal := f.out(f.s), f.in(f.t)
	f.distance[start], f.before[start] = 0, step{-1, -1}
	queues := [][]int32{{start}} // the states by their distances
	for d := int32(0); int(d) < len(queues); d++ {
		for i := 0; i < len(queues[d]); i++ {
			state := queues[d][i]
			switch {
			case f.distance[state] != d: // it was nearer
				continue
			case state == goal:
				f.apply(goal)
				return true
			}
			f.expand(state, func(next, cost, link int32) {
				reached := d + cost + f.potential[state] - f.potential[next]
				if reached >= f.distance[next] {
					return
				}
				f.distance[next], f.before[next] = reached, step{state, link}
				for int(reached) >= len(queues) {
					queues = append(queues, nil)
				}
				queues[reached] = append(queues[reached], next)
			})
		}
	}
	return false
}

// expand calls reach with the next states of one, what it costs to get there, and the link.
func (f *flow) expand(state int32, reach func(next, cost, link int32)) {
	n := state / 2
	leaves, arrives := state == f.out(n), state == f.in(n)
	if f.byNode && n != f.s && n != f.t && leaves == f.through[n] {
		reach(state^1, 0, -1) // to the other state of the node
	}
	for _, a := range f.of(n) {
		switch used := f.used[a.link]; {
		case used == unused && leaves && a.to != f.s:
			reach(f.in(a.to), 1, a.link)
		case used != unused && arrives && used == f.towards(a.link, n):
			reach(f.out(a.to), -1, a.link)
		}
	}
}

// apply adds the path of the search to the flow, and the distances to the potentials. States that are farther than the
// goal count as if they were as far: their potentials stay.
func (f *flow) apply(goal int32) {
	for state, d := range f.distance {
		f.potential[state] += min(d, f.distance[goal]) - f.distance[goal]
	}
	for at := goal; f.before[at].state >= 0; at = f.before[at].state {
		by := f.before[at]
		n, last := at/2, by.state/2
		switch {
		case by.link < 0:
			f.through[n] = at == f.out(n)
		case f.used[by.link] == f.towards(by.link, last):
			f.used[by.link] = unused
		default:
			f.used[by.link] = f.towards(by.link, n)
		}
	}
}

// removePath removes a path from the flow and returns its links. A flow with the fewest links has no cycles, so no path
// passes a node twice.
func (f *flow) removePath() (links []int32) {
	for n := f.s; n != f.t; {
		i := slices.IndexFunc(f.of(n), func(a arc) bool { return f.used[a.link] != unused && f.used[a.link] == f.towards(a.link, a.to) })
		a := f.of(n)[i]
		f.used[a.link] = unused
		links, n = append(links, a.link), a.to
	}
	return links
}
