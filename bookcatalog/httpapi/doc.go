// Package httpapi serves the book catalog over HTTP: one http.Handler over any bookcatalog.Store,
// to serve alone or to mount in another router.
//
//	mux.Handle("/", httpapi.NewHandler(bookcatalog.NewMemStore(), nil))
//	mux.Handle("/shop/", http.StripPrefix("/shop", httpapi.NewHandler(store, nil)))
//
// The routes:
//
//	GET    /api/books        200: the first 100 books, a bare array
//	GET    /api/books/{id}   200: a book
//	POST   /api/books        201: the new book, with Location and ETag
//	PUT    /api/books/{id}   200: the book after the change; 404 for an unknown id
//	DELETE /api/books/{id}   200: {"status":"success","message":"Book deleted"}
//	GET    /openapi.json     200: the OpenAPI document of these routes
//	GET    /docs/            200: a page for it, if Options.Docs is set
//
// Lists can be filtered by q, title, author, isbn, subject, year, year_gte and year_lte, and sorted
// by sortby=<field>:<asc or desc>, which may occur more than once. With page or limit the response
// is a page; with cursor it starts at a position, and an empty cursor is the beginning. Without them
// it is the first page, with at most 100 books. The body is an array in any case: X-Total-Count has
// the number of all matching books, and Link the other pages (RFC 8288).
//
// Every book has a strong ETag. If-Match on PUT and DELETE prevents changes to a version that the
// client has not seen (412); If-None-Match on GET saves the transfer (304).
//
// Errors are those of httpx: 400 with every invalid field, 404, 405, 409 for a duplicate ISBN, 412,
// 413, 415, 500, and 507 for a full store.
//
// # Design notes
//
// The handler includes the whole middleware chain of httpx, because it is what new users mount
// first. The chain works inside a router with the same middleware: the innermost compresses, and
// the outermost sets the request id.
//
// The domain does not know HTTP; this package maps its error kinds to status codes. NewHandler is
// not in package bookcatalog because it depends on httpx/sanitize: users of the catalog without
// HTTP do not link an HTML parser.
//
// A cursor contains the sort order, and of the last book the id and, with sortby, the fields that
// sortby can name. It is not signed, because a client could request everything in it directly.
//
// The OpenAPI document is a file. For five routes that is shorter than a generator, and the tests
// send requests that compare it with the handler: routes, parameters, fields and their limits.
//
// Location is derived from the path that the client sent, so that it is correct within
// http.StripPrefix.
package httpapi
