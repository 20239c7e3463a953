// Package demo fills an inventory with a network to look at and to measure with: devices at
// sites all over the world, with their interfaces, VLANs and links, and what has happened
// to them lately.
//
//	store := inventory.NewMemStore()
//	counts, err := demo.Fill(ctx, store, nil) // 10,000 devices
//
// The data hang together. A hostname has the code of its site, the models are of their
// vendors and run their systems, interfaces are called what the vendor calls them, both
// ends of a link are of one speed, gateways are in their subnets, and what is switched off
// has been quiet for a while. Addresses are private (RFC 1918) or for documentation (RFC
// 3849), MAC addresses are locally administered: none of them belongs to anybody.
//
// # Design notes
//
// The network is made site by site, and each part of a site is written and forgotten
// before the next, so that a million devices need no more memory than some hundreds.
// It also keeps links within a site, where most cables are.
//
// With the same seed and time the data are the same each time, down to the last serial
// number: a benchmark means something only with the data it had before. The ids are
// the exception, as an id must never be there twice; [Options.NewID] can make them the same
// too.
//
// Records go to the store directly and in batches, not through an inventory.Inventory,
// which would write an entry of the log for each. The log gets one entry, in the last batch.
//
// Records are made in the form in which they are kept, and the tests say that
// inventory.CheckNew finds nothing to mend in any of them. To check each again while
// it is written would take three times what it takes to make it (BenchmarkFill,
// BenchmarkCheckNew).
//
// A store that has devices or locations already is refused. Among the records of a real
// network, made-up ones could never be told apart again.
//
// There are no users in the data: an account with a password that anybody can read here
// would be a way in.
package demo
