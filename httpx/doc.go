// Package httpx is a kit for HTTP services on net/http: middleware for any router, handlers
// that return errors and one place that renders them, JSON bodies, list queries, entity tags,
// and serving with graceful shutdown.
//
//	books := httpx.NewBody[Book](nil)
//	mux := http.NewServeMux()
//	mux.Handle("POST /books", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
//		book, err := books.Read(r)
//		if err != nil {
//			return err // 400, 413 or 415 with the reason
//		}
//		return httpx.WriteJSON(w, http.StatusCreated, book)
//	}))
//	handler := httpx.Standard(nil)(httpx.Mux(mux))
//	err := httpx.Serve(ctx, listener, handler, nil)
//
// # Errors
//
// A handler is a [HandlerFunc] and returns an [*Error] with a status, a message for the client
// and a cause for the log. [WriteError] renders the errors of handlers, middleware and router
// in the same form:
//
//	{"status":"error","message":"Invalid JSON: isbn: must be a string, not a number (line 1, column 9)",
//	 "request_id":"QK2V5O4XJY7ZSN3TLBFA6DHPGE",
//	 "errors":[{"field":"isbn","reason":"must be a string, not a number (line 1, column 9)"}]}
//
// Clients that ask for application/problem+json get that. Errors of other types become a 500
// without details; [AccessLog] logs their text.
//
// # Middleware
//
// Middleware is a func(http.Handler) http.Handler, and each works without the others:
// [DrainBody], [ResponseTime], [RequestID], [AccessLog], [SecurityHeaders], [Gzip], [Recover],
// [Origins.CORS], [Budget.Middleware], [Hosts.Protect], [Origins.Protect], [SingleParams],
// [BodyLimit], [Probes]. [Standard] combines them in an order that its comment explains. [NotFound] and
// [MethodNotAllowed] are for other routers; [Mux] is for [http.ServeMux].
//
// # Requests
//
// [Body] decodes JSON and reports unknown and duplicate fields, wrong types, trailing data and
// size, with field, line and column, and what a [Validator] finds. [ParseList] reads page, limit,
// sortby and filters; [NewPage] is the response body. [IfMatch], [IfNoneMatch] and [NotModified]
// compare entity tags. [Clients] finds the client address, trusting named proxies only.
//
// # Limits
//
// A client cannot make a service hold more than these. [ServeOptions] and [StandardOptions] change
// them; [Unlimited] is no limit.
//
//	connections              1024, and 128 of one address (IPv6: /64 network)
//	header of a request      16 KiB, within 10 s
//	body of a request        1 MiB, within 30 s with its header; JSON: 32 levels, 50,000 values
//	response                 within 60 s, and 64 KiB of it within 10 s
//	idle connection          2 min
//	requests of a connection 100 at a time (HTTP/2), with 128 KiB of bodies that were not read
//	requests in progress     64 MiB of memory, half of it for one client ([Budget])
//
// [TokenGuard] admits holders of a token, and [OneTimeCodes] are those of sign-in links.
//
// At a limit, those who use most make room: [LimitListener] and [Budget] describe how. [Hosts]
// protects from DNS rebinding, and has to be set, because only the service knows its names:
//
//	hosts, err := httpx.NewHosts(listener.Addr(), &httpx.HostsOptions{Names: names, Setting: "ALLOWED_HOSTS"})
//
// # Design notes
//
// The package and its tests import the standard library only, so that importers get no new
// line in go.sum. Middleware that needs a library is a package of its own, such as
// httpx/sanitize, and has a place in [Standard].
//
// Neighbouring middleware shares one http.ResponseWriter that observes the response. Every
// writer of this package has an Unwrap method for http.ResponseController and implements
// http.Flusher. None implements http.Hijacker, because the connection below may not.
//
// Gzip uses compress/gzip, not a faster library, for the same reason. Responses are small, and
// the writers are pooled.
//
// [Origins] has two middleware functions because of their order: CORS headers must be set
// before the rate limiter refuses, and refused pages must be counted by the limiter.
//
// A page of the service's own host is allowed, by the Host header. [Hosts] checks that header.
//
// Routers of net/http redirect //x and /a/../b before they call a handler. Put a router inside of
// the chain, not around it, so that these responses have its headers, limits and log records too.
//
// At a limit the connections and requests that wait for their client are ended first, because that
// is all that a flood can make many of. Refusing new ones instead would let a flood keep all other
// clients out.
//
// The bytes of a body are counted as they arrive, not by Content-Length, which is only a claim.
//
// Bodies are read whole and then checked, because they are small and a streaming decoder stops
// at the first problem. [Body] walks through the document itself: encoding/json reports no
// position for most problems, keeps the last of duplicate keys, and matches keys without case.
//
// The whole chain with a text log adds about 5 us and 22 allocations to a small GET
// (BenchmarkStandard; a test limits the allocations to 40).
package httpx
