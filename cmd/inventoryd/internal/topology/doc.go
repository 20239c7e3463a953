// Package topology reads topologies of networks, for package importer: labs of containerlab (*.clab.yml), and GraphML.
//
//	lab, err := topology.ReadLab("fabric.clab.yml", file)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, engine, []importer.Source{lab.Source(schema)}, nil)
//
// A lab becomes a location of the kind room with its name, and nodes become devices there, with what they
// inherit from their group, their kind and the defaults. Links between nodes become interfaces and links.
// Labels become tags, as name=value, but for the label role. [Topology.Unplaced] counts the rest: links to the host or
// the management network, links of unknown types, labels for drawings.
//
// A graph becomes a region with the name of its file, and the places of its nodes sites there. Data that has no field is
// counted by its name.
//
// # Design notes
//
// Variables (${NAME}) are not expanded: containerlab takes them from the environment of whoever deploys the
// lab. A field that has one is left out, and counted; a name that has one is an error.
//
// GraphML has no names of interfaces, but for ports. So they are named after the neighbour, which stays the same in a
// second import.
package topology
