// Package redistest starts real Redis servers for tests: one, a master with its
// replica and sentinels, or a cluster.
//
//	server := redistest.Start(t, nil)
//	store, err := redisstore.New(server.Addr, nil)
//
// They listen on free ports of the loopback interface, keep their files in a
// directory of the test, and are killed when it ends. A test is skipped where there is
// no redis-server on the PATH, and fails there if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// Real servers, not an imitation: what a store has to get right is what happens when a
// server is stopped, paused, demoted or full, and an imitation does none of that.
//
// Processes, ports and signals are servertest's; this package knows what Redis wants.
package redistest
