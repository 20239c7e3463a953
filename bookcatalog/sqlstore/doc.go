// Package sqlstore keeps the books of a catalog in a database, through database/sql. It
// imports no driver: sqlstore/sqlite does, and opens a file.
//
//	store, err := sqlite.Open(ctx, "books.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	handler := httpapi.NewHandler(store, nil)
//
// For another database, write a [Dialect], its migrations, and an Open of your own that
// ends in [New].
//
// # Design notes
//
// What differs between databases is data: a [Dialect] has a field for each difference,
// and the statements are the same for all. A branch on the name of a database would
// have to be found again for the next one.
//
// A change is one statement that names the version it changes, so that there is no
// transaction to be left open. A list is a reading transaction around the page and the
// count, so that both speak of the same books.
//
// There are two handles to a database. SQLite has one writer at a time: with a handle of
// one connection the others wait in Go, in order and no longer than their context, rather
// than in the database, which would turn them away. Readers do not wait at all. For
// a server that takes many writers both handles may be the same.
//
// What is looked for is folded by Go and kept next to the book (bookcatalog.Keys), since no
// two databases agree on what upper case is. Looking for a part of a text reads every
// key; that is fast enough for a catalog of some ten thousand books, and the place where
// a larger one would put a full-text index.
//
// Lists inside of a book, its authors and subjects, are JSON in one column: nobody asks for
// an author by itself.
package sqlstore
