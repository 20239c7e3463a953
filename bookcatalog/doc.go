// Package bookcatalog is a small catalog of books, built the way everything in this module
// is built. It is meant to be read: this page is the tour, and every line of code on it is
// compiled and run as an example.
//
// # One: the domain stands on its own
//
// [Book], [Author] and [Address] are plain data, and [Catalog] is what may become of them.
// None of it knows of HTTP or of a database, so it is used, and tested, like this:
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
// What is required is an argument; what is not sits in one *[Options] that may be nil, whose
// zero fields say what they mean. Time comes in as a function, so that a test knows what
// time it is.
//
// # Two: an error says whose fault it is
//
// An [Error] has a kind for programs, a message that is safe to show, what is wrong field by
// field, and a cause for the log. Anything else is a failure, and its text is nobody's
// business:
//
//	_, err = catalog.Add(ctx, &bookcatalog.Book{Title: "Emma again", ISBN: "978-0-14-143958-7"})
//	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Conflict, err)
//	_, err = catalog.Add(ctx, &bookcatalog.Book{ISBN: "0-14-143958-1"})
//	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Invalid, err)
//
// # Three: a seam is as small as its use
//
// [Store] is an interface of five methods, declared here where it is used. What any two
// stores would both have to do is above it, in Catalog or as a helper such as
// [Query.Select]; what must happen in one step is below: uniqueness, and comparing versions.
// [MemStore] is one, sqlstore another, and examples/bookcatalog-store a third.
//
// What a store must do is not only said but tested: bookcatalog/storetest is the contract as a
// suite, which every store runs, and which is itself run against stores that are broken.
//
// # Four: changes name what they change
//
// Nothing is overwritten unseen. Every change says which version it replaces, and one that
// comes too late is asked again, about the book as it is by then:
//
//	emma, err = catalog.Replace(ctx, emma.ID, &bookcatalog.Book{Title: "Emma, revised"}, func(old *bookcatalog.Book) error {
//		fmt.Println("replacing version", old.Version, "of", old.Title)
//		return nil
//	})
//	fmt.Println(err, emma.Version, emma.Title)
//
// # Five: HTTP is a layer like any other
//
// bookcatalog/httpapi turns a store into an http.Handler. Its handlers return errors, one
// place renders them, and one table leads from kinds to statuses. The layers around them,
// from request ids to compression, are those of httpx, in an order that is written down:
//
//	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), nil)
//	r := httptest.NewRequest("POST", "/api/books", strings.NewReader(`{"title":"Emma","author":{"lastname":"Austen"}}`))
//	r.Header.Set("Content-Type", "application/json")
//	w := httptest.NewRecorder()
//	handler.ServeHTTP(w, r)
//	fmt.Println(w.Code, w.Header().Get("Content-Type"))
//
// # Six: a program is a few lines
//
// cmd/bookcatalogd reads its flags, opens a store and serves the handler until it is told
// to stop. Its main calls a function that takes its arguments, environment and streams as
// values, so the whole program is tested without being built.
//
// # Design notes
//
// The names of the routes and the fields firstname and lastname are those of the
// specification and of the reference service. Its sample ISBNs are none (55555): check
// digits are verified by default, and [Options.LenientISBN] takes any text.
//
// Uniqueness is on the thirteen digits, because 0-14-143958-0 and 978-0-14-143958-7 are one
// book. Without a valid ISBN there is nothing to be unique.
//
// PUT replaces: what is left out is gone. There is no PATCH in the specification, and a
// catalog of this size needs none; the inventory has one.
//
// Ids are UUIDs of version 7. They sort by the time they were made, so that the default
// order, which is that of the ids, is the order of creation, and needs no further column.
//
// The validator's messages are not used: they speak of Go fields and tags. Each rule
// that a tag names has a sentence here.
package bookcatalog
