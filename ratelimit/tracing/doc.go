// Package tracing sets up trace spans for a rate limit server and sends them by
// OTLP, over HTTP or gRPC:
//
//	t, err := tracing.New(ctx, 1, nil)
//	if err != nil {
//		return err
//	}
//	defer t.Shutdown(context.WithoutCancel(ctx))
//	grpcServer := grpc.NewServer(grpc.StatsHandler(t.GRPC()))
//	mux.Handle("/json", t.HTTP(handler))
//	store = t.Store(store, tracing.SpanRedis)
//
// Calls and requests get a server span, which continues the trace of the caller.
// Callers name their trace in W3C trace context headers or in B3 headers, single or
// multiple; if both are there, W3C counts. W3C baggage is passed on.
//
// # Spans
//
// The spans within a call, and their attributes, have the names that the reference
// service gives them (1.17):
//
//	ShouldRateLimit Execution            domain, request string
//	Redis Pipeline Execution             pipeline length, perSecondPipeline length
//	Memcached Fetch Execution            keysToGet length
//	NewJsonHandler Remaining Execution   response
//
// The two in the middle come from [Tracing.Store] and carry "hits" as well. The
// other two are started by whoever decides and answers, through
// [Tracing.StartSpan], which has only types of the standard library and so fits an
// interface that is declared elsewhere.
//
// Text in attributes is cut at [MaxText] bytes.
//
// # Where spans go
//
// The standard variables of the process's environment say that, and the exporter
// reads them itself: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _INSECURE,
// _COMPRESSION, _CERTIFICATE, _CLIENT_CERTIFICATE and _CLIENT_KEY, each also with
// TRACES_ before the last part, which then has precedence. Without an endpoint it
// is https://localhost:4318 for HTTP and localhost:4317 with TLS for gRPC. Which of
// the two protocols is used, [Options] say; OTEL_EXPORTER_OTLP_PROTOCOL can only make
// the bodies over HTTP JSON ("http/json"). OTEL_BSP_*, OTEL_SPAN_* and
// OTEL_RESOURCE_ATTRIBUTES apply as well. OTEL_SERVICE_NAME and
// OTEL_TRACES_SAMPLER don't: the arguments of [New] rule.
//
// Spans wait in a queue of 2,048 (OTEL_BSP_MAX_QUEUE_SIZE) and leave it every 5
// seconds or 512 at a time. What finds the queue full is dropped: tracing never
// holds up or fails a call. A receiver that isn't there is logged, once and then
// every minute, and so is its return.
//
// # Design notes
//
// Nothing is registered with the libraries' globals. Errors of exports would end in
// a global handler; here they are caught on the way there and logged.
//
// The exporter takes a malformed variable for one that is not set, and some that
// the batching takes as they are end the process or keep it spinning. So [New]
// reads all of them first and refuses what is malformed, all at once and without
// showing values that may be secret.
//
// Over HTTP the exporter gets a client of its own: the one that it would use is
// shared with the rest of the process and can't be closed. The connections of ours
// are closed by [Tracing.Shutdown].
//
// The library gives up waiting when a shutdown's time is up, but not the export it
// waited for. Here the end of the context ends the export, and so Shutdown returns
// when all goroutines have ended, in time.
//
// A span that will not be sampled is not made at all: below a parent that is not
// sampled, StartSpan returns the context it was given and allocates nothing.
//
// Health checks over gRPC are not traced. They come every few seconds for ever, and
// would be most of what there is to see.
//
// Turned down: the library's middleware for HTTP, for the one span that is needed
// here; and an interface in this package for what is traced, since the packages that
// trace can't import this one.
package tracing
