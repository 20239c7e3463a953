// Package bookcatalog is a small catalog of books, built the way everything in this module is
// built. This page is a tour of the design; its code is compiled and run as an example.
//
// # 1. The domain is independent
//
// [Book], [Author] and [Address] are plain data, and [Catalog] validates and applies changes to
// them. Neither knows of HTTP or databases:
//
//	catalog := bookcatalog.New(bookcatalog.NewMemStore(), &bookcatalog.Options{
//		Now: func() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) },
//	})
//	emma, err := catalog.Add(ctx, &bookcatalog.Book{
//		Title:  "Emma",
//		ISBN:   "0-14-143958-0",
//		Author: &bookcatalog.Author{FirstName: "Jane", LastName: "Austen"},
//	})
//	fmt.Println(err, emma.ISBN13, emma.Version, emma.CreatedAt.Year())
//
// Required values are arguments. Optional ones are fields of an *[Options] that may be nil, and
// their zero values mean documented defaults. The clock is a function, so that tests control it.
//
// # 2. Errors have a kind
//
// An [Error] has a kind for programs, a message for clients, the invalid fields, and a cause for
// the log. Any other error is a failure, and its text is not shown to clients:
//
//	_, err = catalog.Add(ctx, &bookcatalog.Book{Title: "Emma again", ISBN: "978-0-14-143958-7"})
//	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Conflict, err)
//	_, err = catalog.Add(ctx, &bookcatalog.Book{ISBN: "0-14-143958-1"})
//	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Invalid, err)
//
// # 3. Interfaces are small
//
// [Store] has five methods and is declared here, where it is used. What all stores have in common
// is above it, in Catalog or in helpers such as [Query.Select]. What must be atomic is below it:
// uniqueness and the comparison of versions. [MemStore] is one implementation, package
// sqlstore/sqlite another, and examples/bookcatalog-store a third.
//
// Package storetest is the contract of a store as a test suite. Every store runs it, and the
// suite itself is tested with broken stores.
//
// # 4. Changes name the version they change
//
// Every change names the version that it replaces. If that version is no longer current, the
// caller's check runs again with the new one:
//
//	emma, err = catalog.Replace(ctx, emma.ID, &bookcatalog.Book{Title: "Emma, revised"}, func(old *bookcatalog.Book) error {
//		fmt.Println("replacing version", old.Version, "of", old.Title)
//		return nil
//	})
//	fmt.Println(err, emma.Version, emma.Title)
//
// # 5. HTTP is a layer on top
//
// Package httpapi turns a store into an http.Handler. Handlers return errors, one function
// renders them, and one table maps kinds to status codes. Middleware, from request ids to
// compression, comes from package httpx in a documented order:
//
//	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), nil)
//	r := httptest.NewRequest("POST", "/api/books", strings.NewReader(`{"title":"Emma","author":{"lastname":"Austen"}}`))
//	r.Header.Set("Content-Type", "application/json")
//	w := httptest.NewRecorder()
//	handler.ServeHTTP(w, r)
//	fmt.Println(w.Code, w.Header().Get("Content-Type"))
//
// # 6. A program is a few lines
//
// cmd/bookcatalogd reads its flags, opens a store and serves the handler until it is stopped. Its
// main calls a function that takes arguments, environment and streams as values, so that tests
// run the whole program in their own process.
//
// # Design notes
//
// Routes and field names such as firstname follow the service that this catalog can replace
// (REFERENCE.md, 1 and 3). The sample ISBNs of that service, such as 55555, are invalid: check
// digits are verified by default, and [Options.LenientISBN] accepts any string.
//
// The thirteen digits are unique, not the ISBN as written, because 0-14-143958-0 and
// 978-0-14-143958-7 are the same book. Books without a valid ISBN are not compared.
//
// PUT replaces the whole book. A catalog of this size needs no PATCH; the inventory has it.
//
// Ids are UUIDs of version 7, which sort by creation. The default order is that of the ids, so it
// needs no further column.
//
// The messages of the validation library name Go fields and tags. They are replaced by messages
// for clients.
package bookcatalog
