// Package servertest runs server programs as child processes, for tests that need real
// servers.
//
//	server := servertest.Start(t, "redis-server", func(port string) []string {
//		return []string{"--bind", "127.0.0.1", "--port", port}
//	}, ping)
//
// Servers listen on free ports of the loopback interface and are killed when the test ends.
// If the program is not on the PATH, the test is skipped, or fails if
// ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// A free port is found by listening on it and closing the listener. Another process may take
// the port before the server does: a server that exits at once is started again on another
// port, a few times.
//
// Signals are asynchronous, and there is no portable way to detect a stopped process. So
// Freeze sends requests until the server stops replying.
package servertest
