// Package redistest runs real Redis servers for tests: one server, a master with a replica
// and sentinels, or a cluster.
//
//	server := redistest.Start(t, nil)
//	store, err := redisstore.New(server.Addr, nil)
//
// Servers listen on free ports of the loopback interface, keep their files in a directory
// of the test, and are killed when it ends. Without redis-server on the PATH a test is
// skipped, or fails if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// Real servers instead of a fake one: a store must be correct when a server is stopped,
// frozen, demoted or out of memory, which a fake does not show. Package servertest manages
// processes, ports and signals.
package redistest
