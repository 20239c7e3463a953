package graph

import "slices"

// Path leads from one node to another. Nodes has one element more than Links.
type Path struct{ Nodes, Links []string }

// Shortest returns the paths with the fewest links between two nodes, at most the given number of them.
// Two paths that use different links between the same nodes are two paths. From a node to itself there
// is one path without links; there is none to an unknown node.
func (g *Graph) Shortest(from, to string, most int) []Path {
	s, ok := g.index[from]
	t, ok2 := g.index[to]
	if !ok || !ok2 || most < 1 {
		return nil
	}
	distance, queue := slices.Repeat([]int32{-1}, len(g.nodes)), []int32{t} // from t, of nodes that are not farther than s
	distance[t] = 0
	for at := 0; at < len(queue) && distance[s] < 0; at++ {
		for _, a := range g.of(queue[at]) {
			if distance[a.to] < 0 {
				distance[a.to], queue = distance[queue[at]]+1, append(queue, a.to)
			}
		}
	}
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
			if distance[a.to] == distance[n]-1 && len(paths) < most {
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
	}
	return p
}
