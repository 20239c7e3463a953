// Package inventory defines the records of a network inventory: devices, their interfaces,
// locations, VLANs, links, cables, events, metrics and users. Package records has the engine that
// validates, changes and lists them. REFERENCE.md describes the rules.
//
//	store := records.NewMemStore(inventory.Schema())
//	v := records.New(store, nil)
//	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
//	err := v.Create(ctx, records.Caller{Name: "jane"}, site)
//
// # Own resources and fields
//
// A program adds resources of its own, and fields to those of the inventory:
//
//	type Cabinet struct {
//		records.Base
//		Name string `json:"name" field:"required,unique,max=100,search"`
//	}
//
//	schema, err := inventory.NewSchema(
//		records.Define[Cabinet](records.Definition{Name: "cabinets", Label: "Cabinet"}),
//		records.Extend("devices", "cabinet_id", records.Text, "ref=cabinets:null"),
//		records.ExtendChildren("cabinets", records.Child{Path: "devices", From: "devices", Field: "cabinet_id"}),
//		inventory.Roles("collector"),
//	)
//
// Stores that are opened with the schema have the tables and columns, and httpapi has the
// routes, filters and documents. The page of a record in the console has a section for each resource that refers to it.
//
// # Design notes
//
// A link has no direction, so its ends are ordered; otherwise the same cable could be
// recorded twice, once from each end.
//
// A cable between two interfaces has a link, and is no link itself: links are what neighbours were
// seen, of which an interface may have several, and each other port has one cable. Both are stored,
// and kept in step in the transaction that changes one of them (REFERENCE.md, 1.10). Cables without
// links of their own would change what links are to existing programs.
//
// A cable has a reference for each type of port and side, of which one on each side has a value. So the
// database checks each, and deletes the cable with its port; a column with ids of any type could do neither.
//
// The time zone of a location is checked in form only, because the known zones depend on the
// machine.
package inventory
