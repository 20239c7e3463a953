// Package sqlstore keeps the books of a catalog in a database, through database/sql. It
// imports no driver: package sqlstore/sqlite does, and opens a file.
//
//	store, err := sqlite.Open(ctx, "books.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	handler := httpapi.NewHandler(store, nil)
//
// For another database, write a [Dialect], its migrations, and an Open of your own that ends
// in [New].
//
// # Design notes
//
// A [Dialect] holds the differences between databases as data, so that the statements are the
// same for all and have no branches on the name of a database.
//
// A change is one statement with the version that it changes, so it needs no transaction. A
// list reads the page and the count in one transaction, so that both see the same books.
//
// There are two handles to a database, because SQLite allows one writer at a time: writers
// wait for the single connection of the first handle in Go, until their context ends, and
// readers do not wait. For a database server both handles may be the same.
//
// Strings that are searched for are folded in Go and stored next to the book
// (bookcatalog.Keys), since databases disagree about case. A search for a part of a string
// reads every key; this is fast enough for some ten thousand books. A larger catalog would
// need a full-text index here.
//
// The authors and subjects of a book are JSON in one column each, since nothing queries an
// author alone.
package sqlstore
