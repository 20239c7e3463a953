// Package memcachetest starts real memcached servers for tests.
//
//	server := memcachetest.Start(t, nil)
//	store, err := memcachestore.New([]string{server.Addr}, nil)
//
// Servers listen on free ports of the loopback interface and are killed when the test ends.
// If memcached is not on the PATH, the test is skipped, or fails if ASHLAR_REQUIRE_SERVICES
// is 1.
//
// # Design notes
//
// The servers are real because stores must handle servers that stop, restart or cannot be
// reached, and the lifetimes of items: a fake would repeat our own misunderstandings.
//
// [Server.Do] implements the protocol itself, so that tests do not check a store through
// the client library that the store uses.
package memcachetest
