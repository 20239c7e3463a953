// Package httplimit puts limits in front of an http.Handler, in any router: each
// middleware is a func(http.Handler) http.Handler.
//
// [PerKey] is one limit with a counter for each key:
//
//	limiter, err := ratelimit.NewLimiter("clients", memstore.New(nil), ratelimit.Per(100, ratelimit.Minute), nil)
//	// ...
//	limit := httplimit.PerKey(limiter, httplimit.RemoteHost, nil)
//	http.ListenAndServe(":8080", limit(handler))
//
// [PerRequest] holds whole requests against the rules of an engine, of which any
// number may apply to one request:
//
//	limit := httplimit.PerRequest(engine, "api", func(r *http.Request, d *httplimit.Descriptors) {
//		d.Add(ratelimit.Entry{Key: "remote_address", Value: httplimit.RemoteHost(r)})
//		d.Add(ratelimit.Entry{Key: "path", Value: r.URL.Path}, ratelimit.Entry{Key: "method", Value: r.Method})
//	}, nil)
//
// A request over its limit never reaches the handler. It is answered with 429,
// Retry-After and a short JSON body, or with what [Options.Denied] writes. All
// other requests reach it with the http.ResponseWriter that the middleware was
// given, unwrapped, so that flushing, hijacking and deadlines work as they did.
//
// Who a request comes from is for the caller to say. [RemoteHost] is the peer of the
// connection; behind proxies that is a proxy, and [ForwardedFor] or [Header] must
// be told which of what they write to believe.
//
// # Design notes
//
// When it can't be decided whether a request is within its limits, it passes: a
// limit that protects a service should not be what takes it down. Where a limit
// protects something dearer than availability, such as a login, set
// [Options.FailClosed]. A client that hangs up while its hit is being counted is
// neither let pass nor reported: the store was told to give up by the client, which
// is no failure of the store, and if such requests passed, hanging up early would
// be a way around every limit.
//
// The headers are RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset unless
// another style is chosen, as in the specification of the service: they carry what
// clients have long read from the names with the X, without it. The two structured
// fields of the IETF drafts on the subject, RateLimit-Policy and RateLimit, are left
// out until there is an RFC; their syntax has changed with almost every draft.
// The headers are set in the canonical form of net/http, before the handler runs,
// so that it may change or delete them; Retry-After waits for the longest of the
// limits that have to turn, the other headers tell of the tightest.
//
// An IPv6 address counts as its /64 network, since that is the least that one
// subscriber is given: a limit per address would be none, and 2^64 counters for each
// who cares to make them.
//
// There is no key for paths or for whatever else a client can make up. It is a
// line to write, and the one who writes it should know that each spelling is
// another counter; the pattern a request matched (http.Request.Pattern) is better.
package httplimit
