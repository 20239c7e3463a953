// Package sqlite keeps the books of a catalog in an SQLite file, through database/sql and a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "books.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	handler := httpapi.NewHandler(store, nil)
//
// A change that has returned without an error survives a crash of the process.
//
// # Design notes
//
// A change is one statement with the version that it changes, so it needs no transaction. A
// list reads the page and the count in one transaction, so that both see the same books.
//
// The write-ahead log, the writing and the reading handle, and the lock for migrations are
// those of internal/sqlitefile. SQLite allows one writer at a time: writers wait for the single
// connection of the writing handle in Go, until their context ends, and readers do not wait.
//
// Strings that are searched for are folded in Go and stored next to the book
// (bookcatalog.Keys), since databases disagree about case. A search for a part of a string
// reads every key; this is fast enough for some ten thousand books. A larger catalog would
// need a full-text index here.
//
// The authors and subjects of a book are JSON in one column each, since nothing queries an
// author alone.
//
// The package knows one database. Package inventory/sqlstore serves two, with their differences
// as data.
package sqlite
