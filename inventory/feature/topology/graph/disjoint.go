package graph

import "slices"

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
// Of all sets of so many paths it is one whose total weight is least, so a path of it may be longer than
// the shortest path. The shortest one is first. Without a path, and from a node to itself, there are none.
func (g *Graph) Disjoint(from, to string, by Disjointness, most int) []Path {
	s, ok := g.index[from]
	t, ok2 := g.index[to]
	if !ok || !ok2 || s == t {
		return nil
	}
	f := newFlow(g, s, t, by)
	n := 0
	for n < most && f.augment() {
		n++
	}
	paths := make([]Path, n)
	for i := range paths {
		paths[i] = g.path(s, f.removePath())
	}
	byWeight(paths)
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

	potential []int64 // of each state, by which no reduced cost is negative
	distance  []int64 // of each state; -1 if it was not reached
	before    []step  // to each state
	settled   []bool
	touched   []int32 // states with a distance
	queue     heap
}

// The values of flow.used.
const (
	unused int8 = iota - 1
	towardsA
	towardsB
)

// step records the way of a search to a state: by a link, or without one within a node.
type step struct{ state, link int32 }

func newFlow(g *Graph, s, t int32, by Disjointness) *flow {
	states := 2 * len(g.nodes)
	f := &flow{
		Graph: g, s: s, t: t, byNode: by == ByNode,
		used: slices.Repeat([]int8{unused}, len(g.links)), through: make([]bool, len(g.nodes)),
		potential: make([]int64, states), distance: slices.Repeat([]int64{-1}, states),
		before: make([]step, states), settled: make([]bool, states),
	}
	return f
}

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
	for _, s := range f.touched {
		f.distance[s], f.settled[s] = -1, false
	}
	f.touched, f.queue = f.touched[:0], f.queue[:0]
	goal := f.in(f.t)
	f.reach(f.out(f.s), 0, step{-1, -1})
	for len(f.queue) > 0 {
		at := f.queue.pop()
		if f.settled[at.state] {
			continue
		}
		f.settled[at.state] = true
		if at.state == goal {
			f.settle(at.distance)
			f.apply(goal)
			return true
		}
		f.expand(at.state, at.distance)
	}
	return false
}

// expand reaches the next states of one.
func (f *flow) expand(state int32, distance int64) {
	n := state / 2
	reachNext := func(next int32, cost int64, link int32) {
		f.reach(next, distance+cost+f.potential[state]-f.potential[next], step{state, link})
	}
	leaves, arrives := state == f.out(n), state == f.in(n)
	if f.byNode && n != f.s && n != f.t && leaves == f.through[n] {
		reachNext(state^1, 0, -1) // to the other state of the node
	}
	for _, a := range f.of(n) {
		switch used := f.used[a.link]; {
		case used == unused && leaves && a.to != f.s:
			reachNext(f.in(a.to), f.weight(a.link), a.link)
		case used != unused && arrives && used == f.towards(a.link, n):
			reachNext(f.out(a.to), -f.weight(a.link), a.link)
		}
	}
}

// reach sets the distance of a state if it is the least so far.
func (f *flow) reach(state int32, distance int64, by step) {
	known := f.distance[state]
	if f.settled[state] || known >= 0 && known <= distance {
		return
	}
	if known < 0 {
		f.touched = append(f.touched, state)
	}
	f.distance[state], f.before[state] = distance, by
	f.queue.push(entry{distance, state})
}

// settle adds the distances of the search to the potentials. States farther than the goal count as if
// they were as far: their potentials stay.
func (f *flow) settle(goal int64) {
	for _, s := range f.touched {
		if f.settled[s] {
			f.potential[s] += f.distance[s] - goal
		}
	}
}

// apply adds the path of the search to the flow.
func (f *flow) apply(goal int32) {
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

// removePath removes a path from the flow and returns its links. A flow of least cost has no cycles, because
// no weight is 0, so no path passes a node twice.
func (f *flow) removePath() (links []int32) {
	for n := f.s; n != f.t; {
		i := slices.IndexFunc(f.of(n), func(a arc) bool { return f.used[a.link] != unused && f.used[a.link] == f.towards(a.link, a.to) })
		a := f.of(n)[i]
		f.used[a.link] = unused
		links, n = append(links, a.link), a.to
	}
	return links
}
