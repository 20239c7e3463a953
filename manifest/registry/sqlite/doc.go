// Package sqlite keeps the entries of a registry in an SQLite file, with a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "registry.db")
//
// A change that has returned without an error survives a crash of the process. The file can be the target of a
// mirror, also while another process serves it.
//
// # Design notes
//
// The write-ahead log, the writing and the reading handle, and the lock for migrations are those of
// internal/sqlitefile.
//
// Manifests are in a table of their own. Filters read the other tables and their indexes only, which
// are a tenth of the size; a page reads the manifests of its entries.
//
// Searching has two plans. A text of three or more characters is looked up in an index of trigrams first. If
// it finds more servers than a page could need, sorting them would take longer than reading the names in their order
// until the page is full; so does a shorter text.
//
// The schema is created by one statement list and has a number (PRAGMA user_version). A file with a higher one is
// refused.
package sqlite
