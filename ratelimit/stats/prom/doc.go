// Package prom shows the statistics of a stats.Registry to a server that scrapes
// metrics. It serves them itself, or joins a program's own metrics as a
// prometheus.Collector:
//
//	exporter, err := prom.New(registry, nil)
//	if err != nil {
//		return err
//	}
//	mux.Handle("/metrics", exporter.Handler())
//
// A mapping says which metric and labels a statistic's name becomes. The built-in one
// is the specification's ("Pull-style metrics"):
//
//	ratelimit.service.rate_limit.api.client.over_limit
//	ratelimit_service_rate_limit_over_limit{domain="api",key1="client"}
//
// What stands between the dots of a statistics key becomes the labels domain, key1,
// key2, and for keys with more parts key3, key4 and so on. Response times are
// histograms in seconds. A statistic that no mapping knows is shown under its own name,
// with underscores for what a metric's name may not hold; that goes for
// over_limit_with_local_cache and domain_not_found too, so that there is a metric
// for each limit and each domain, as dashboards of the reference service have it.
//
// Options.MapperFile replaces the built-in mapping with a file in the form of the
// statsd exporter: glob and regex matches, labels, drop, scale, ttl, histograms and
// summaries. It turns the metrics named above into labels, if that is wanted:
//
//	mappings:
//	- match: 'ratelimit\.service\.rate_limit\.([^.]+)\.(.+)\.over_limit_with_local_cache'
//	  match_type: regex
//	  name: ratelimit_service_rate_limit_over_limit_with_local_cache
//	  labels: {domain: $1, key: $2}
//
// # Series
//
// No two statistics become one series unless a mapping file says so. If names differ
// only in what can't be shown, such as a dot and an underscore in a name without a
// mapping, the one that came first keeps the plain series and the other gets
// the label "statistic" with its whole name. If one of them is a counter and the
// other a gauge, the later metric's name has its kind added.
//
// Statistics that a mapping file makes one series are added up. One that it can't
// show, because the metric exists as another kind, is left out, logged, and counted
// in [ConflictsName]. The rest of the scrape is as it would be without it.
//
// Counters are totals since the start. The counter of a limit appears when it has
// counted something: most of some ten thousand are always 0. All others appear at once,
// so that rate() sees their first count.
//
// # Design notes
//
// Nothing is done for the scrape while calls are decided, except to put response times
// into their buckets. Counters are read when somebody asks. The alternative, to pass
// each flush of a push protocol through a mapper as events, rounds times to
// milliseconds and is late by a flush interval.
//
// A name is mapped once and remembered until the registry forgets it. Memory follows
// the registry's, which is bounded, and not what was ever seen.
//
// Only the plain text form and protocol buffers are offered, though the libraries know
// a newer text form. A server prefers that one if it is offered, and in it every
// counter's name ends in "_total": each name above would change.
//
// The buckets of response times include those that the reference service has, so a
// query for one of its boundaries stays right, and finer ones below 5 milliseconds,
// where the calls are. With Options.ResponseTimeAsMilliseconds the metric keeps its
// name, although that ends in "_seconds", because it does so there.
//
// One bad series must not cost all others, so a scrape never fails over a conflict.
// An invalid mapping file on the other hand fails the start, with the reason. The
// reference service starts without any mapping then, and every dashboard is empty.
package prom
