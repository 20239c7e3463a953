// Package graph answers questions about a network as a graph: what is near a device, which paths
// lead from one device to another, and whose loss divides the network. It imports the standard
// library only and knows no records: package topology builds a [Graph] from devices and links.
//
//	g, err := graph.New(
//		[]graph.Node{{ID: "core"}, {ID: "access"}},
//		[]graph.Link{{ID: "uplink", A: "core", B: "access"}},
//	)
//	if err != nil {
//		return err
//	}
//	for _, f := range g.Working().Failures() {
//		fmt.Println(f.Link, "cuts off", f.CutOff(10))
//	}
//
// # Design
//
// Links have no direction. Two nodes may have any number of links between them, and a link may
// connect a node with itself, which no path uses and whose loss cuts nothing off.
//
// Links have no weight: of two paths, the one with fewer links is shorter.
//
// The time of [Graph.Neighbors], [Graph.Shortest] and [Graph.Failures] is proportional to the nodes and links
// (breadth-first search; the lowest points of one depth-first search, by Tarjan), and to the paths.
// [Graph.Disjoint] is a flow of least cost by successive shortest paths with potentials (Suurballe and Bhandari): each
// further path is one more search.
//
// All results are in an order that depends on the order of the given nodes and links only.
package graph
