// Package postgrestest starts real PostgreSQL servers for tests.
//
//	func TestPostgres(t *testing.T) {
//		server := postgrestest.Start(t, nil)
//		t.Run("create", func(t *testing.T) { open(t, server.Database(t)) })
//		t.Run("list", func(t *testing.T) { open(t, server.Database(t)) })
//	}
//
// A server takes about a second and a database a few hundredths of one. So tests share a
// server by being the parts of one test, and each has a database of its own.
//
// A server listens on a free port of the loopback interface, asks for no password,
// keeps its files in a directory of the test, and ends with it. initdb and postgres come
// from the PATH, or from where Debian puts them. A test is skipped where they are
// missing, and fails there if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// Real servers, not an imitation: what a store has to get right is what happens between
// transactions, and when a server is stopped, hangs or comes back.
//
// A server is set up to differ from what a program may silently rely on. It sorts
// texts by the rules of English and not by their bytes, its time zone is not UTC, and
// it writes dates with the day first. What works here works with other settings too.
//
// It does not wait for its disk, because nobody needs its files after a power failure.
// It does write before it commits, so that a server that is killed loses nothing. It
// looks for deadlocks at once, and not after a second, since tests provoke them.
//
// PostgreSQL refuses to run as root, so under root it runs as the user postgres or nobody.
//
// The few words of the protocol that are needed to see whether a server answers, and to
// make a database, are spoken here. A driver would be a dependency of every program whose
// tests use this package, and psql a process for each question.
//
// Kill stops the server's processes all at once and without a farewell, as a crash does.
// To kill only the first of them would leave those of the connections, which go on with
// what they do and keep the next server from starting.
package postgrestest
