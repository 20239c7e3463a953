package prom

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// ConflictsName is the statistic that counts statistics which could not be shown.
const ConflictsName = "ratelimit.service.scrape_conflicts"

// Options configure an Exporter. A nil *Options means all defaults.
type Options struct {
	// Mapping is the content of a mapping file, of at most 1 MiB, that replaces the
	// built-in mapping (SCRAPE_MAPPER_YAML), which nil selects.
	Mapping []byte
	// ResponseTimeAsMilliseconds makes the built-in mapping show response times in
	// milliseconds. With another mapping it has no effect, which is logged.
	ResponseTimeAsMilliseconds bool
	// Tags are labels of every metric (EXTRA_TAGS). Characters that a label's name may
	// not contain become "_". A tag named like a label of the mapping is shown as
	// "tag_<name>". A tag without a value is omitted.
	Tags []stats.Tag
	// NoRuntimeMetrics omits the metrics of the Go runtime (go_), of the process
	// (process_), of the program (ratelimit_build_info) and of the handler itself
	// (promhttp_) from what Handler serves.
	NoRuntimeMetrics bool
	// TopKeys, if not nil, returns the busiest keys (ratelimit.Engine.TopKeys), which Handler serves
	// as the gauges ratelimit_top_key_hits and ratelimit_top_key_refusals: TopKeysPerRule of each rule, and at most
	// 1000 series of each metric. Their label "key" holds values that clients sent, cut after 128
	// bytes: each new key is another series for the server that scrapes. TopKeysPerRule is up to
	// 64. Default: none.
	TopKeys        func() *ratelimit.TopKeys
	TopKeysPerRule int
	// Log receives the statistics that cannot be shown. Default: slog.Default().
	Log *slog.Logger
	// Now is the clock for the ttl of mappings. Default: time.Now.
	Now func() time.Time
}

// Exporter shows a registry's statistics as metrics. It is a prometheus.Collector and
// safe for concurrent use. It has no goroutines.
type Exporter struct {
	registry  *stats.Registry
	mapping   mapping
	log       *slog.Logger
	scrapeLog *scrapeLog
	now       func() time.Time
	conflicts *ratelimit.Counter
	handler   http.Handler
	end       func() // of observing timers

	scraping sync.Mutex // serializes scrapes
	scrapes  uint64

	mu      sync.Mutex // locked within scraping, and by the registry; never while the registry is called
	table   *table
	entries map[statistic]*entry
	timers  []*timer
}

var _ prometheus.Collector = (*Exporter)(nil)

// New returns an Exporter of registry. It shows the durations that timers record from
// then on until Close. opts may be nil.
//
// It fails if the mapping cannot be read or is invalid, and if a tag has no name or
// the same name as another.
func New(registry *stats.Registry, opts *Options) (*Exporter, error) {
	opts = cmp.Or(opts, &Options{})
	e := &Exporter{
		registry: registry,
		log:      cmp.Or(opts.Log, slog.Default()),
		now:      opts.Now,
		entries:  make(map[statistic]*entry),
	}
	e.scrapeLog = &scrapeLog{to: e.log}
	if e.now == nil {
		e.now = time.Now
	}
	var err error
	if e.mapping, err = newMapping(opts, e.log); err != nil {
		return nil, err
	}
	tags, err := tagLabels(opts.Tags, e.mapping.owns)
	if err != nil {
		return nil, err
	}
	e.table = newTable(tags, e.mapping.reserved())
	if e.handler, err = e.newHandler(opts); err != nil {
		return nil, err
	}
	e.conflicts = registry.Counter(ConflictsName)
	e.end = registry.Observe(e.observe)
	return e, nil
}

// Close ends the observation of timers, so that the Exporter no longer costs anything
// per call. It may still be scraped. Close returns nil, however often it is called.
func (e *Exporter) Close() error {
	e.end()
	return nil
}

// Handler serves all metrics to GET requests, compressed with gzip if the client
// accepts it. At most four requests are served at a time, each for at most ten
// seconds; beyond that the response is 503.
func (e *Exporter) Handler() http.Handler { return e.handler }
