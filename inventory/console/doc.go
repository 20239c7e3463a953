// Package console serves the web pages of an inventory: lists, pages and forms of all records, and the pages of
// features. It is an http.Handler over the API of the same process:
//
//	api, err := httpapi.New(engine, guard, options)
//	pages, err := console.New(api, &console.Options{Prefix: "/console"})
//	mux.Handle("/console/", http.StripPrefix("/console", pages))
//	mux.Handle("/", api)
//
// Pages follow the schema: resources and fields that a program adds, and custom fields, have lists, pages
// and forms like those of this module.
//
// # Signing in
//
// With Accounts of the API, users sign in with a password, a code of their second factor if they have one,
// or through the identity provider. The token is a cookie of the console (HttpOnly, SameSite=Strict, for
// the prefix only), which the API itself does not read. Without Accounts the console has no such page: the Authenticator
// of the API identifies the sender by the request of the browser, with its cookies, its context and all headers that are
// not about the page, such as X-User of a proxy. Forms have a token in every case (httpx/ui), because browsers send
// cookies and passwords, and proxies headers, with requests of other pages too.
//
// # Design notes
//
// Pages do nothing but call the API, without its middleware, as the sender. So there is one place for
// rights, validation, dry runs and the audit log, and a page cannot offer more than the API does. A call
// costs the encoding of JSON, which a page does not notice.
//
// The state of a list is its address: filters, order, columns, cursor. So views can be saved and sent as
// bookmarks, and nothing is kept in the browser.
package console
