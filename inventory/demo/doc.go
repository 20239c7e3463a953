// Package demo fills an inventory with a made-up network for demonstrations and benchmarks:
// devices at sites around the world, with interfaces, racks, VLANs, prefixes, addresses, links, metrics
// and events.
//
//	store := records.NewMemStore(inventory.Schema())
//	counts, err := demo.Fill(ctx, store, nil) // 10,000 devices
//
// The records are consistent: a hostname starts with the code of its site, models belong to
// their vendors, interface names follow the vendor's scheme, both ends of a link have the same
// speed, gateways lie in their subnets, and devices that are switched off have not been seen
// for a while. Addresses are private (RFC 1918) or reserved for documentation (RFC 3849), and
// MAC addresses are locally administered.
//
// # Design notes
//
// The network is generated site by site in parts of 500 devices, so memory use does not depend
// on its size. Links stay within a part.
//
// The same number of devices, seed and time produce the same records, ids included, so that
// benchmarks are comparable. The ids are UUIDs of version 7 with the creation times.
//
// Records are written to the store in batches, not through an records.Engine, which would
// add an audit entry for each. The whole run is one audit entry, in the last batch. Records are
// generated in their canonical form; a test compares them with what records.CheckNew makes
// of them, because checking each at run time would take three times as long as generating it.
//
// Fill refuses a store that has devices or locations, because made-up records could not be
// told from real ones afterwards. It creates no users: their passwords would be public.
package demo
