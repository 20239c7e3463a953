// Package apidocs serves a page that displays an OpenAPI document with an embedded Swagger UI.
//
//	mux.Handle("/docs/", http.StripPrefix("/docs", apidocs.New(&apidocs.Options{
//		Title:       "Network inventory",
//		DocumentURL: "../openapi.json",
//	})))
//
// All links are relative, so it works behind any prefix that [http.StripPrefix] removes. A path
// without the final slash redirects to the one with it.
//
// The page replaces the Content-Security-Policy of outer middleware by its own: scripts, styles
// and requests are limited to its own origin, and nothing is inline.
//
// # Design notes
//
// The files are embedded in compressed form, half a megabyte instead of two. For clients without
// gzip they are decompressed while they are sent.
//
// File names contain a hash of the content, so that browsers can cache them forever. The page
// itself is revalidated each time with a 304.
//
// The address of the document is an attribute of the page, because a script would have to be
// inline or generated for each page.
//
// The page ignores document addresses in its query, which Swagger UI can support: a link to the
// page could display a document of the link's author.
package apidocs
