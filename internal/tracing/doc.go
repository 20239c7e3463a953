// Package tracing creates trace spans for a server and sends them by OTLP, over HTTP or gRPC:
//
//	t, err := tracing.New(ctx, 1, nil)
//	if err != nil {
//		return err
//	}
//	defer t.Shutdown(context.WithoutCancel(ctx))
//	grpcServer := grpc.NewServer(grpc.StatsHandler(t.GRPC()))
//	mux.Handle("/json", t.HTTP(handler))
//
// Calls and requests have a server span, which continues the trace of the caller.
// Callers send their trace in W3C trace context headers or in B3 headers, single or
// multiple; W3C takes precedence. W3C baggage is passed on.
//
// # Spans
//
// [Tracing.StartSpan] starts a span within a call. It uses only types of the standard library and so fits an
// interface that is declared elsewhere. [Name] names the span of a request by its route, when that is known.
//
// Strings in attributes are cut at [MaxText] bytes.
//
// # Environment
//
// The OpenTelemetry libraries read their standard variables themselves. The exporter
// reads OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _INSECURE, _COMPRESSION,
// _CERTIFICATE, _CLIENT_CERTIFICATE and _CLIENT_KEY, and the same with TRACES_ before
// the last part, which takes precedence. Without an endpoint, spans go to
// https://localhost:4318 over HTTP and to localhost:4317 with TLS over gRPC.
// [Options] choose the protocol; OTEL_EXPORTER_OTLP_PROTOCOL can only make the bodies
// over HTTP JSON ("http/json"). OTEL_BSP_*, OTEL_SPAN_* and OTEL_RESOURCE_ATTRIBUTES
// apply as well. OTEL_SERVICE_NAME and OTEL_TRACES_SAMPLER do not: the arguments of
// [New] take precedence.
//
// Spans wait in a queue of 2,048 (OTEL_BSP_MAX_QUEUE_SIZE) and are sent every 5 seconds
// or 512 at a time. When the queue is full, spans are dropped: tracing never delays or
// fails a call. A receiver that cannot be reached is logged once and then every minute,
// and so is its return.
//
// # Design notes
//
// Nothing is registered with the libraries' globals. Errors of exports would be passed
// to a global handler; the exporter is wrapped so that they are logged instead.
//
// For a malformed variable the libraries print a line to standard error and use the
// default. [New] rejects only what they handle worse: malformed headers and endpoints,
// whose line would contain secrets, endpoints that can never work, and numbers for the
// batch processor that make it panic, spin, or allocate without bound.
//
// The library stops waiting when the time of a shutdown is over, but not the export
// that it waited for. Here the end of the context aborts the export, so that Shutdown
// returns in time and no goroutine of the exporter remains. An idle connection over
// HTTP belongs to the library's shared transport and is closed after 90 seconds.
//
// A span that will not be sampled is not created: below a parent that is not sampled,
// StartSpan returns the context that it was given and allocates nothing.
//
// Health checks over gRPC are not traced: they are periodic, and would be most of what
// a trace viewer shows.
//
// Turned down: an interface in this package for what is traced, since the packages that
// trace must not import this one.
package tracing
