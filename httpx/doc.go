// Package httpx is what the HTTP services of this module are made of, on net/http and
// nothing else: layers for any router, handlers that return errors and one place that
// answers them, JSON in and out, list queries, entity tags, and serving until told
// to stop.
//
//	books := httpx.NewBody[Book](nil)
//	mux := http.NewServeMux()
//	mux.Handle("POST /books", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
//		book, err := books.Read(r)
//		if err != nil {
//			return err // 400, 413 or 415, and what would be right
//		}
//		return httpx.WriteJSON(w, http.StatusCreated, book)
//	}))
//	handler := httpx.Standard(nil)(httpx.Mux(mux))
//	err := httpx.Serve(ctx, listener, handler, nil)
//
// # Errors
//
// A handler is a [HandlerFunc] and returns an [*Error] with a status, a message for the
// client and, for the log, a cause. Whatever goes wrong in a layer, in a handler or in
// the router ends in [WriteError], so that all errors look alike:
//
//	{"status":"error","message":"Invalid JSON: isbn: must be a string, not a number (line 1, column 9)",
//	 "request_id":"QK2V5O4XJY7ZSN3TLBFA6DHPGE",
//	 "errors":[{"field":"isbn","reason":"must be a string, not a number (line 1, column 9)"}]}
//
// or the same as application/problem+json, for a client that asks for it. Errors of any
// other type are a 500 that shows nothing; [AccessLog] has the text.
//
// # Layers
//
// A layer is a bare func(http.Handler) http.Handler and needs none of the others:
// [ResponseTime], [RequestID], [AccessLog], [SecurityHeaders], [Gzip], [Recover],
// [Origins.CORS], [Origins.Protect], [SingleParams], [BodyLimit]. [Standard] is all
// of them, in an order that says why. In a router of others, [NotFound] and
// [MethodNotAllowed] answer what it did not find; for [http.ServeMux] there is [Mux].
//
// # Requests
//
// [Body] reads JSON and says what is wrong with it, by field, line and column: unknown
// fields, wrong types, duplicate keys, trailing data, too deep, too large. [ParseList]
// reads page, limit, sortby and filters; [NewPage] is the body of the answer. [IfMatch],
// [IfNoneMatch] and [NotModified] compare entity tags. [Clients] says who asks, believing
// only the proxies that are named.
//
// # Design notes
//
// The standard library is enough, tests included: who imports this package gets no new
// line in go.sum. What needs a library is a layer elsewhere, such as httpx/sanitize, and
// has its place in [Standard].
//
// The layers share one watching http.ResponseWriter where they lie next to each other.
// All writers here have an Unwrap method, for http.ResponseController, and are
// http.Flushers. They are no http.Hijackers by themselves: one that is asserted
// could promise what the connection below can't do.
//
// Gzip is compress/gzip and not a faster library for the same reason. Answers are small
// or pages of a list, and the writers are pooled.
//
// [Origins] makes two layers rather than one, for an order that a single layer can't
// have: what a page may read must be said before the limiter refuses, and pages
// that are refused must be counted.
//
// A page of the service's own host may use it, which is told by the Host header. Who must
// withstand names that others point at this machine (DNS rebinding) checks that header too,
// for instance with patterns of http.ServeMux that name the host.
//
// Bodies are read whole and then looked at: they are small by rule, and the first
// problem in a stream would hide the others. [Body] walks through the document itself,
// because encoding/json has no place for most of what is wrong, stops at the first
// problem, takes the last of two equal keys, and takes "TITLE" for "title".
//
// Cost: the whole chain, with a log in text, adds about 4 us and 19 allocations to a small
// GET (BenchmarkStandard; a test holds it to 40).
package httpx
