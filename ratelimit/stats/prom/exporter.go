package prom

import (
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

// Options are the choices of an Exporter. A nil *Options is the zero one.
type Options struct {
	// MapperFile is the path of a mapping file, of at most 1 MiB, that replaces the
	// built-in mapping (SCRAPE_MAPPER_YAML). It is read once.
	MapperFile string
	// Mapping is the text of such a file. At most one of the two may be given.
	Mapping []byte
	// ResponseTimeAsMilliseconds has the built-in mapping show response times in
	// milliseconds. With a mapping of one's own it does nothing, and that is logged.
	ResponseTimeAsMilliseconds bool
	// Tags are labels of every metric (EXTRA_TAGS). What a label's name may not hold
	// becomes "_". A tag named like a label of the mapping is shown as "tag_<name>".
	// One without a value is left out.
	Tags []stats.Tag
	// NoRuntimeMetrics leaves the metrics of the Go runtime (go_), of the process
	// (process_) and of the handler itself (promhttp_) out of what Handler serves.
	NoRuntimeMetrics bool
	// Log is told of statistics that can't be shown. Default: slog.Default().
	Log *slog.Logger
	// Now is the clock for the ttl of mappings. Default: time.Now.
	Now func() time.Time
}

// Exporter shows a registry's statistics as metrics. It is a prometheus.Collector and
// safe for use by any number of goroutines. It runs none of its own, and needs no Close.
type Exporter struct {
	registry  *stats.Registry
	names     mapping
	table     *table
	log       *slog.Logger
	trouble   *scrapeLog
	now       func() time.Time
	conflicts *ratelimit.Counter
	handler   http.Handler

	timersMu sync.Mutex // may be locked while the registry is
	timers   []*timer

	mu       sync.Mutex // is never locked while the registry is; makes readings take turns
	round    uint64
	counters map[string]*entry
	gauges   map[string]*entry
}

var _ prometheus.Collector = (*Exporter)(nil)

// New returns an Exporter of registry. From then on it takes the durations of all
// timers; earlier ones are not shown. opts may be nil.
//
// It fails if the mapping can't be read or is invalid, and if a tag has no name or the
// same name as another.
func New(registry *stats.Registry, opts *Options) (*Exporter, error) {
	if opts == nil {
		opts = &Options{}
	}
	e := &Exporter{
		registry: registry,
		log:      opts.Log,
		now:      opts.Now,
		counters: make(map[string]*entry),
		gauges:   make(map[string]*entry),
	}
	if e.log == nil {
		e.log = slog.Default()
	}
	e.trouble = &scrapeLog{to: e.log}
	if e.now == nil {
		e.now = time.Now
	}
	if err := e.prepare(opts); err != nil {
		return nil, err
	}
	e.conflicts = registry.Counter(ConflictsName)
	registry.Observe(e.observe)
	return e, nil
}

func (e *Exporter) prepare(opts *Options) (err error) {
	if e.names, err = newMapping(opts, e.log); err != nil {
		return err
	}
	tags, err := tagLabels(opts.Tags, e.names.owns)
	if err != nil {
		return err
	}
	e.table = newTable(tags, e.names.reserved())
	e.handler, err = e.newHandler(!opts.NoRuntimeMetrics)
	return err
}

// Handler serves all metrics to GET requests, compressed with gzip if the client asks
// for it. At most four requests are served at a time, and each for at most ten
// seconds; beyond that the answer is 503.
func (e *Exporter) Handler() http.Handler { return e.handler }
