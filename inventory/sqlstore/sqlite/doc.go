// Package sqlite opens an inventory in a file of SQLite, or in memory, with a driver in
// pure Go.
//
//	store, err := sqlite.Open(ctx, "inventory.db", nil)
//
// What was answered with success is in the file when the process is killed at any time.
// Several processes may have the same file open.
//
// # Design notes
//
// The file has a write-ahead log, so that readers do not wait for the writer. It is
// synchronised at checkpoints and not with each change (synchronous=NORMAL): a crash of the
// process loses nothing, a loss of power may lose the last changes but never the file.
//
// There is a handle of one connection that writes, and one of several that read. Writers
// wait for each other in Go, in order and no longer than their context, rather than in the
// database, which would turn them away. Each begins with the lock (_txlock=immediate): one
// that reads first and then finds somebody else writing can't wait for them, and
// fails.
//
// A database in memory is that of one connection, which serves readers and writers in turn.
// Several connections can share one, but there is no log there: readers and writers would wait
// for each other in the database.
//
// The cache of each connection may take 32 MB, and the log is written back at 16 MB:
// with the default of 2 MB, rows of large changes are written twice. Memory is
// taken as it is needed. What a statement keeps for a moment, to sort or to undo, is in memory
// too and not in files (temp_store).
package sqlite
