// Package stats holds the statistics of a rate limit service: counters, gauges and
// timers by name. A [Registry] is an engine's ratelimit.Stats, holds the statistics of
// the server itself, and serves a page that lists them:
//
//	registry := stats.New(nil)
//	engine, err := ratelimit.New(store, &ratelimit.Options{Stats: registry})
//	mux.Handle("/stats", registry)
//
// Packages stats/statsd and stats/prom export a registry. Like any other reader of
// statistics they call [Registry.Read] for counters and gauges, and [Registry.Timers]
// or [Registry.Observe] for timers.
//
// The names are listed in REFERENCE.md, 5.1. The statistics of a limit are called
// "ratelimit.service.rate_limit.<statistics key>.total_hits" and so on. A tag is a part
// of the name, ".__<tag>=<value>"; [Tagged] writes it and [SplitTags] reads it.
//
// # Design notes
//
// Counting is an atomic addition, whether or not the statistics are exported. Anything
// else that a sink needs, such as the total that it sent last, is stored in the sink.
//
// A timer records into one [Histogram], from which the page computes quantiles and the
// push protocol whole milliseconds. Only a scrape, whose buckets and quantiles
// are configurable, observes single durations, and only until it is closed. A sink that
// was created and discarded therefore costs nothing per call.
//
// Histogram buckets are aligned to milliseconds and not to powers of ten of
// nanoseconds: the push protocol rounds durations down to milliseconds, and a bucket
// that spans such a boundary could not reproduce that.
//
// The engine reports when it no longer uses a name. The counters of that name are
// retained for Options.Keep, because calls may be in progress and sinks may not have
// read the last counts, and are then forgotten. Frequent changes of the configuration
// do not accumulate memory.
package stats
