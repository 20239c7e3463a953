// Package containerlab reads the topology of a lab (*.clab.yml), for package importer.
//
//	lab, err := containerlab.Read("fabric.clab.yml", file)
//	if err != nil {
//		return err
//	}
//	source, err := lab.Source(schema)
//	if err != nil {
//		return err
//	}
//	report, err := importer.Run(ctx, engine, []importer.Source{source}, nil)
//
// The lab becomes a location of the kind room with its name, and nodes become devices there, with what they
// inherit from their group, their kind and the defaults. Links between nodes become interfaces and links.
// Labels become tags, as name=value, but for the label role. [Lab.Unplaced] counts the rest: links to the host or
// the management network, links of unknown types, labels for drawings.
//
// # Design notes
//
// Variables (${NAME}) are not expanded: containerlab takes them from the environment of whoever deploys the
// lab. A field that has one is left out, and counted; a name that has one is an error.
package containerlab
