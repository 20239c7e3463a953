// Package stats keeps the statistics of a rate limit service: counters, gauges and
// timers by name. A [Registry] is the engine's ratelimit.Stats, the place where a
// server counts what it does itself, and a page that shows all of it:
//
//	registry := stats.New(nil)
//	engine := ratelimit.New(store, &ratelimit.Options{Stats: registry})
//	mux.Handle("/stats", registry)
//
// Packages stats/statsd and stats/prom carry a registry to where it is looked at.
// They, like anything else that wants the figures, call [Registry.Read] for
// counters and gauges and [Registry.Observe] for timers.
//
// Names are those of the reference service (reference 1.14): for a limit,
// "ratelimit.service.rate_limit.<statistics key>.total_hits" and five more. A tag is
// a part of the name, ".__<tag>=<value>"; [Tagged] writes it and [SplitTags] reads it.
//
// # Design notes
//
// Counting costs the same whether anybody looks or not: an atomic addition. What a
// sink needs beside the sum, such as what it has sent already, the sink keeps.
//
// A timer hands each duration to those who observe it, because they want different
// things: a push protocol whole milliseconds, a scrape a histogram with buckets of its
// own. Without observers it keeps what the page shows, in buckets that are an eighth
// of a power of two wide.
//
// The engine says when it no longer uses a name (ratelimit.StatsReleaser). Its
// counters are kept for a while longer, Options.Keep, because calls may still be
// under way and sinks have not seen the last counts; then they go. A configuration that
// changes for ever does not fill the process.
package stats
