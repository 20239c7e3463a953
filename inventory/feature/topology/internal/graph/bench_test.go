package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
)

// campus returns a network of 50,000 links in three layers: each access switch has an uplink to two
// switches of its building, whose switches are connected with two of the core; some have one only.
func campus() ([]graph.Node, []graph.Link) {
	const access, buildings, core = 24_000, 400, 16
	random := rand.New(rand.NewPCG(1, 2))
	var nodes []graph.Node
	var links []graph.Link
	node := func(kind string, i int) string {
		id := fmt.Sprintf("%s-%d", kind, i)
		nodes = append(nodes, graph.Node{ID: id})
		return id
	}
	link := func(a, b string) {
		links = append(links, graph.Link{ID: fmt.Sprintf("link-%d", len(links)), A: a, B: b})
	}
	cores, distribution := make([]string, core), make([]string, 2*buildings)
	for i := range cores {
		cores[i] = node("core", i)
		for _, other := range cores[:i] {
			link(cores[i], other)
		}
	}
	for i := range distribution {
		distribution[i] = node("distribution", i)
		link(distribution[i], cores[random.IntN(core)])
		link(distribution[i], cores[random.IntN(core)])
	}
	for i := range access {
		id := node("access", i)
		building := random.IntN(buildings)
		link(id, distribution[2*building])
		if i%20 > 0 {
			link(id, distribution[2*building+1])
		}
	}
	for len(links) < 50_000 { // what people have added in between
		link(nodes[random.IntN(len(nodes))].ID, nodes[random.IntN(len(nodes))].ID)
	}
	return nodes, links
}

// BenchmarkGraph measures each question over 50,000 links, beside the baseline of reading them.
func BenchmarkGraph(b *testing.B) {
	nodes, links := campus()
	n := newNetwork(b, nodes, links)
	from, to := nodes[len(nodes)-1].ID, nodes[len(nodes)/2].ID
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"baseline: read the links", func() {
			sum := 0
			for i := range links {
				sum += len(links[i].ID) + len(links[i].A) + len(links[i].B)
			}
			if sum == 0 {
				b.Fatal("no links")
			}
		}},
		{"new", func() { newNetwork(b, nodes, links) }},
		{"working", func() { n.Working() }},
		{"neighbors to depth 4", func() { n.Neighbors(4, from) }},
		{"shortest", func() { n.Shortest(from, to, 1) }},
		{"two disjoint by node", func() { n.Disjoint(from, to, graph.ByNode, 2) }},
		{"all disjoint by node of core switches", func() { n.Disjoint("core-0", "core-1", graph.ByNode, 1000) }},
		{"failures", func() { n.Failures() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
	}
}
