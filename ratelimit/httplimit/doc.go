// Package httplimit puts limits in front of an http.Handler, in any router: each
// middleware is a func(http.Handler) http.Handler.
//
// [PerKey] is one limit with a counter for each key:
//
//	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Minute), nil)
//	// ...
//	limit := httplimit.PerKey(limiter, httplimit.RemoteHost, nil)
//	http.ListenAndServe(":8080", limit(handler))
//
// [PerRequest] applies the rules of an engine, any number of which may match one request:
//
//	limit := httplimit.PerRequest(engine, "api", func(r *http.Request, d *httplimit.Descriptors) {
//		d.Add(ratelimit.Entry{Key: "remote_address", Value: httplimit.RemoteHost(r)})
//		d.Add(ratelimit.Entry{Key: "path", Value: r.URL.Path}, ratelimit.Entry{Key: "method", Value: r.Method})
//	}, nil)
//
// A request over its limit does not reach the handler. The response is 429 with
// Retry-After and a short JSON body, or what [Options.Denied] writes. All other requests
// reach the handler with the original http.ResponseWriter, so that flushing, hijacking and
// deadlines work.
//
// Under a limit of ratelimit.Concurrency a request holds its permit until its handler has returned or
// panicked; a connection that the handler hijacked no longer counts then. The limit's unit bounds
// how long a permit is held, so choose one that is longer than any request:
//
//	limiter, err := ratelimit.NewLimiter("downloads", store, ratelimit.Limit{
//		Algorithm: ratelimit.Concurrency, RequestsPerUnit: 4, Unit: ratelimit.Hour,
//	}, nil)
//
// A handler that decides itself, such as by a cost that it computes, lets [Respond] set the headers
// and respond to a request over its limit.
//
// [Transport] is for clients: their requests wait for a limit, and for Retry-After.
//
// The caller chooses what identifies a client. [RemoteHost] is the peer of the connection;
// behind proxies that is a proxy, and [ForwardedFor] and [Header] need to know what to
// trust.
//
// # Design notes
//
// A request passes when the decision fails: a limit that protects a service should not be
// what takes it down. For a limit that protects something more important than availability, such
// as a login, set [Options.FailClosed]. A request that its client cancels while it is being
// counted neither passes nor counts as a failure: its context is done, and if
// such requests passed, disconnecting early would bypass every limit.
//
// A request that passes because of a failure is never silent: [Options.OnError] gets the error, or
// else the log does, once a minute. A domain that the rules do not have is no failure: the engine
// logs it.
// The constructors return no error, so that a middleware can be written where it is used; one that
// was built without a limiter, an engine or a key function responds with 500 to every request.
//
// The headers are RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset unless another
// style is chosen (REFERENCE.md, 4.5). [StructuredHeaders] are those of an Internet-Draft, whose
// syntax may change before there is an RFC; they are not the default for that reason. Headers are
// set before the handler runs, which may change or delete them. httpx.Origins.CORS lets pages read
// those of all styles.
//
// An IPv6 address counts as its /64 network, the least that one subscriber is given:
// otherwise one client could use 2^64 counters.
//
// There is no key function for paths or other values that clients choose, because every
// spelling would be another counter. The pattern that a request matched
// (http.Request.Pattern) is better.
package httplimit
