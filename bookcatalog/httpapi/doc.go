// Package httpapi is the book catalog over HTTP: one http.Handler over any
// bookcatalog.Store, to be served alone or mounted in another router.
//
//	mux.Handle("/api/", httpapi.NewHandler(bookcatalog.NewMemStore(), nil))
//	mux.Handle("/shop/", http.StripPrefix("/shop", httpapi.NewHandler(store, nil)))
//
// The routes are those of the specification:
//
//	GET    /api/books        200: all books, a bare array
//	GET    /api/books/{id}   200: a book
//	POST   /api/books        201: the book as it was added, with Location and ETag
//	PUT    /api/books/{id}   200: the book as it is now; 404 for an id that is not there
//	DELETE /api/books/{id}   200: {"status":"success","message":"Book deleted"}
//
// A list may be narrowed by q, title, author, isbn, subject, year, year_gte and year_lte,
// and sorted by sortby=<field>:<asc or desc>, which may come more than once. It is given
// in pages if page or limit is there, and from a place onwards if cursor is: an empty
// cursor is the beginning. It is an array in any case; X-Total-Count has the number
// of all books that were asked for, and Link leads to the other pages (RFC 8288).
//
// Every book has a strong ETag. If-Match on PUT and DELETE keeps from changing a version
// that one has not seen (412), If-None-Match on GET saves the transfer (304).
//
// Errors are those of httpx: 400 with each field that is wrong, 404, 405, 409 for an
// ISBN that another book has, 412, 413, 415 and 500.
//
// # Design notes
//
// The handler brings the whole chain of httpx with it, because it is what a new user
// mounts first. In a router that has such layers itself they do no harm: the innermost
// compresses, the outermost names the request.
//
// The domain knows nothing of HTTP, and this package holds the one table that leads from
// a kind of error to a status. It stands above httpx/sanitize, which is why NewHandler is
// not in package bookcatalog: whoever uses the catalog without HTTP takes no HTML parser
// along.
//
// A cursor holds the sort keys of the last book that was shown, and the sort order it
// belongs to. It is not signed, for there is nothing in it that a client could not ask for.
//
// Location is made from the path as the client sent it, so that it is right behind
// http.StripPrefix.
package httpapi
