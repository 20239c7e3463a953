// Package servertest runs servers of other projects as processes of their own, for
// tests that need the real thing.
//
//	server := servertest.Start(t, "redis-server", func(port string) []string {
//		return []string{"--bind", "127.0.0.1", "--port", port}
//	}, ping)
//
// They listen on free ports of the loopback interface and are killed when the test
// ends. A test is skipped where the program is not on the PATH, and fails there if
// ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// Ports are asked of the system and let go of before the server takes them. Another
// process may be faster; a server that ends at once is therefore started again on
// another port, a few times.
//
// A signal takes its time, and no system tells in the same way when a process has
// stopped. So Freeze asks the server until it does not answer any more.
package servertest
