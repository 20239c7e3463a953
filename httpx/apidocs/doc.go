// Package apidocs is a page that shows an OpenAPI document to people: Swagger UI, from
// this program, with nothing from outside.
//
//	mux.Handle("/docs/", http.StripPrefix("/docs", apidocs.New(&apidocs.Options{
//		Title:       "Network inventory",
//		DocumentURL: "../openapi.json",
//	})))
//
// All links are relative, so it works behind any prefix that [http.StripPrefix] takes off.
// Without the slash at the end, it leads to where there is one.
//
// The page has a Content-Security-Policy of its own, in place of that of the layers around
// it: scripts, styles and requests are for its own origin, and nothing is inline.
//
// # Design notes
//
// The files are embedded as they are sent to nearly every client, which is compressed:
// half a megabyte instead of two. Clients that don't take gzip get them
// unpacked as they are read.
//
// The names of the files have the hash of what is in them, so that browsers may keep them
// for good, and a new version is a new name. The page itself is asked for each time, and
// answered 304.
//
// The address of the document is in an attribute of the page and not in a script: a script
// would have to be inline, or be made for each page.
//
// Addresses of other documents are not taken from the query of the page, which
// Swagger UI can be told to do: a link to this page could show a document of the
// link's author, under this name.
package apidocs
