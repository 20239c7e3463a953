// Package sqlite opens an inventory in an SQLite file, or in memory, with a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "inventory.db", nil)
//
// A change that has returned without an error survives a crash of the process. Several
// processes may have the same file open.
//
// # Design notes
//
// The write-ahead log, the writing and the reading handle, and the lock for migrations are
// those of internal/sqlitefile.
//
// The cache of each connection may grow to 32 MB, and the log is written back at 16 MB:
// with the default of 2 MB, large changes write some rows twice. Memory is allocated as
// needed. Temporary data of a statement, to sort or to undo, is in memory and not in files
// (temp_store).
package sqlite
