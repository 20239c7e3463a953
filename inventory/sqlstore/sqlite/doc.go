// Package sqlite opens an inventory in an SQLite file, or in memory, with a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "inventory.db", inventory.Schema(), nil)
//
// A change that has returned without an error survives a crash of the process. A loss of power
// may lose the last changes, all from some point on: those that the kernel had not written. Several
// processes may have the same file open.
//
// If the file is moved, deleted or replaced while it is open, calls fail with
// records.Unavailable until it is back, or another database with the same tables and columns is
// in its place. No change is lost: the old file gets all of them.
//
// A program that has the file open opens the inventory with [New]. Then the program decides what a commit waits for
// (PRAGMA synchronous), and replaced files are not detected.
//
// # Design notes
//
// The write-ahead log, the handles, the checks of the file, and the lock for migrations are those
// of internal/sqlitefile.
//
// The driver stops a statement when its context ends, but not after its first row. So a list with
// a filter or a search is materialized before its first row (dialect.Spec.Complete).
//
// The cache of each connection may grow to 32 MB, and the log is written back at 16 MB:
// with the default of 2 MB, large changes write some rows twice. Memory is allocated as
// needed. Temporary data of a statement, to sort or to undo, is in memory and not in files
// (temp_store).
package sqlite
