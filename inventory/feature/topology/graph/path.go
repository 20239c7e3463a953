package graph

import "slices"

// Path leads from one node to another. Nodes has one element more than Links.
type Path struct {
	Nodes, Links []string
	Weight       int64 // the sum of the weights of the links
}

// Shortest returns the paths of least weight between two nodes, at most the given number of them.
// Two paths that use different links between the same nodes are two paths. From a node to itself there
// is one path without links; there is none to an unknown node.
func (g *Graph) Shortest(from, to string, most int) []Path {
	s, ok := g.index[from]
	t, ok2 := g.index[to]
	if !ok || !ok2 || most < 1 {
		return nil
	}
	distance := g.distances(t, s)
	if distance[s] < 0 {
		return nil
	}
	var paths []Path
	var links []int32
	var follow func(n int32)
	follow = func(n int32) {
		if n == t {
			paths = append(paths, g.path(s, links))
			return
		}
		for _, a := range g.of(n) {
			if d := distance[a.to]; d >= 0 && d+g.weight(a.link) == distance[n] && len(paths) < most {
				links = append(links, a.link)
				follow(a.to)
				links = links[:len(links)-1]
			}
		}
	}
	follow(s)
	return paths
}

// path returns the path from a node along links.
func (g *Graph) path(from int32, links []int32) Path {
	p := Path{Nodes: []string{g.nodes[from].ID}}
	for _, l := range links {
		from ^= g.ends[l][0] ^ g.ends[l][1] // the other end
		p.Nodes, p.Links = append(p.Nodes, g.nodes[from].ID), append(p.Links, g.links[l].ID)
		p.Weight += g.weight(l)
	}
	return p
}

// distances returns the distance of nodes from one of them, until that of another one is known; -1 for
// those that are not known.
func (g *Graph) distances(from, until int32) []int64 {
	distance := slices.Repeat([]int64{-1}, len(g.nodes))
	queue := heap{{0, from}}
	for len(queue) > 0 {
		at := queue.pop()
		if distance[at.state] >= 0 {
			continue
		}
		distance[at.state] = at.distance
		if at.state == until {
			break
		}
		for _, a := range g.of(at.state) {
			if distance[a.to] < 0 {
				queue.push(entry{at.distance + g.weight(a.link), a.to})
			}
		}
	}
	return distance
}

// entry is a state of a search and its distance.
type entry struct {
	distance int64
	state    int32
}

// heap is a binary heap of entries, the least distance first.
type heap []entry

func (h *heap) push(e entry) {
	*h = append(*h, e)
	all := *h
	i := len(all) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if all[parent].distance <= e.distance {
			break
		}
		all[i] = all[parent]
		i = parent
	}
	all[i] = e
}

func (h *heap) pop() entry {
	all := *h
	first, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	i := 0
	for {
		child := 2*i + 1
		if child >= len(all) {
			break
		}
		if child+1 < len(all) && all[child+1].distance < all[child].distance {
			child++
		}
		if last.distance <= all[child].distance {
			break
		}
		all[i] = all[child]
		i = child
	}
	if len(all) > 0 {
		all[i] = last
	}
	return first
}

// byWeight orders paths, the shortest first.
func byWeight(paths []Path) {
	slices.SortStableFunc(paths, func(a, b Path) int { return int(min(max(a.Weight-b.Weight, -1), 1)) })
}
