// Package memcachetest starts real memcached servers for tests.
//
//	server := memcachetest.Start(t, nil)
//	store, err := memcachestore.New([]string{server.Addr}, nil)
//
// They listen on free ports of the loopback interface and are killed when the test
// ends. A test is skipped where there is no memcached on the PATH, and fails there if
// ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// Real servers, not an imitation: what a store has to get right is what happens when a
// server is stopped, restarted or out of reach, and how it counts lifetimes. An
// imitation would have our own mistakes.
//
// [Server.Ask] speaks the protocol by itself, so that a test does not look at a
// store's work through the client that the store uses.
package memcachetest
