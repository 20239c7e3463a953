// Package prom shows the statistics of a stats.Registry to Prometheus. An [Exporter]
// serves them itself, or joins a program's own metrics as a prometheus.Collector:
//
//	exporter, err := prom.New(registry, nil)
//	if err != nil {
//		return err
//	}
//	defer exporter.Close()
//	mux.Handle("/metrics", exporter.Handler())
//
// A program that uses the limiter in its own process needs no registry: [Stats] is
// both the ratelimit.Stats of an engine and a prometheus.Collector.
//
// A mapping determines the metric and the labels of a statistic. The built-in one
// (REFERENCE.md, 5.5) maps
//
//	ratelimit.service.rate_limit.api.client.over_limit
//	ratelimit_service_rate_limit_over_limit{domain="api",key1="client"}
//
// The parts of a statistics key become the labels domain, key1, key2, key3 and so on.
// Response times are histograms in seconds. A statistic that no mapping matches is
// shown under its own name, with underscores for characters that a metric's name may
// not contain. That includes over_limit_with_local_cache and domain_not_found, which
// have a metric for each limit and each domain, as dashboards of the reference service
// expect. The HELP texts of the server's own statistics are in help.txt.
//
// Options.Mapping replaces the built-in mapping by one in the format of the
// statsd exporter: glob and regex matches, labels, drop, scale, ttl, histograms and
// summaries. It can turn the metrics named above into labels:
//
//	mappings:
//	- match: 'ratelimit\.service\.rate_limit\.([^.]+)\.(.+)\.over_limit_with_local_cache'
//	  match_type: regex
//	  name: ratelimit_service_rate_limit_over_limit_with_local_cache
//	  labels: {domain: $1, key: $2}
//
// # Series
//
// Two statistics share a series only if a mapping file maps them to it. If their names differ
// only in characters that cannot be shown, such as a dot and an underscore in a name
// without a mapping, the first one has the plain series and the other gets the label
// "statistic" with its whole name. If one is a counter and the other a gauge, the later
// metric's name ends in its kind.
//
// Statistics that share a series by a mapping file are added up. One that cannot be
// shown, because its metric exists with another kind, is left out, logged, and counted
// in [ConflictsName]; the rest of the scrape is not affected.
//
// Counters are totals since the start. The counter of a limit appears when it has
// counted something, because most of some ten thousand are always 0. All others appear
// at once, so that rate() sees their first increment.
//
// # Design notes
//
// Only response times are observed while calls are decided, by the histograms and
// summaries of client_golang, until Close. Counters are read at each scrape. The
// alternative, passing each flush of a push protocol through a mapper, rounds times to
// milliseconds and is late by a flush interval.
//
// A name is mapped once, and the result is stored until the registry forgets the name.
// Memory is bounded by the registry's, and not by the names that were ever seen.
//
// Counters and gauges are passed to client_golang with label pairs that were built once
// and that the statistics of a limit share. Its constant metrics were turned down by
// measurement, at 60,000 series: with labels as arguments a scrape takes 1.9 times the
// CPU and 3.8 times the allocations, and with a description for each series the memory
// of a series grows from 690 to 1,150 bytes.
//
// Only the plain text format and protocol buffers are offered. In the newer text format
// (OpenMetrics), which Prometheus prefers, the name of every counter ends in "_total":
// each name above would change.
//
// The buckets of response times include those of the reference service, so a query for
// one of its boundaries stays correct, and finer ones below 5 milliseconds, where the
// calls are. With Options.ResponseTimeAsMilliseconds the metric is still called
// "_seconds", as in the reference service.
//
// An invalid mapping file fails the start, with the reason. The reference service
// starts without any mapping, and every dashboard is empty.
package prom
