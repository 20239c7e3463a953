// Package demo fills an inventory with the made-up network of a company, for demonstrations and benchmarks.
//
//	store := records.NewMemStore(inventory.Schema())
//	counts, err := demo.Fill(ctx, store, nil) // 10,000 devices
//
// A site is in a region and has buildings with floors and rooms. Its routers, firewalls and core switches are
// redundant, and so are the uplinks of the switches of buildings, floors and server racks; access points and
// servers are at the edge. The sites of a region form a ring over circuits of a provider. Devices are in racks; the uplinks of
// floors pass two patch panels. Sites have VLANs, networks in several VRFs, and addresses. A few devices have
// measurements of the last 24 hours, some are down, and some have not been seen lately.
//
// The records are consistent: a hostname starts with the code of its site, models belong to
// their vendors, interface names follow the vendor's scheme, both ends of a link have the same
// speed, cables lead to where the links say, gateways lie in their subnets, and devices that are switched off
// have not been seen for a while. Addresses are private (RFC 1918) or reserved for documentation (RFC 3849), and
// MAC addresses are locally administered.
//
// # Design notes
//
// The data is in catalog.json. The network is generated site by site, and a site has a few thousand devices at
// most, so memory use hardly depends on the size of the network. The cables of the first ten sites are recorded:
// they are three records each, and those sites show all that cables can be.
//
// The same number of devices, seed and time produce the same records, ids included, so that
// benchmarks are comparable. The ids are UUIDs of version 7 with the creation times.
//
// Records are written to the store in batches, not through an records.Engine, which would
// add an audit entry for each. The whole run is one audit entry, in the last batch, and
// those before it are the last changes of some devices. Records are
// generated in their canonical form; a test compares them with what records.CheckNew makes
// of them, because checking each at run time would take three times as long as generating it.
//
// Fill refuses a store that has devices or locations, because made-up records could not be
// distinguished from real ones afterwards. It creates no users: their passwords would be public.
package demo
