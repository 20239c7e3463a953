package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// healthPage is the page about health.
type healthPage struct {
	Components []Component
	Store      string
	// Probed reports whether a counter was read. Latency is the time that it took, and Failure the reason why it failed.
	Probed   bool
	Latency  time.Duration
	Failure  string
	Breakers []breakerState
	Calls    []callTimes
	Numbers  []number
	Loaded   Load
	Rules    int
}

// breakerState is the state of the breaker of a store.
type breakerState struct {
	Name            string
	State           string
	Opened, Refused uint64
}

// callTimes are the durations of calls.
type callTimes struct {
	Name string
	stats.Summary
}

// number is a statistic of the program.
type number struct {
	Name  string
	Value uint64
	Bad   bool // an error that has occurred
}

// health shows the health of the parts of the program.
func (c *Console) health(w http.ResponseWriter, r *http.Request) error {
	page := &healthPage{Store: c.opts.Store, Loaded: c.opts.Load(), Rules: c.current().limits}
	if c.opts.Health != nil {
		page.Components = c.opts.Health()
	}
	c.probe(r.Context(), page)
	if c.opts.Stats != nil {
		page.read(c.opts.Stats)
	}
	return c.page(w, r, http.StatusOK, "health.html", "Health", page)
}

// probe measures how long the store takes to read a counter. It counts nothing.
func (c *Console) probe(ctx context.Context, page *healthPage) {
	for _, d := range c.current().domains {
		for _, n := range d.Nodes {
			if !n.Counted() {
				continue
			}
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			start := time.Now()
			_, err := c.engine.Counters(ctx, &ratelimit.Request{Domain: n.Domain, Descriptors: []ratelimit.Descriptor{{Entries: n.Path}}})
			page.Probed, page.Latency = true, time.Since(start)
			if err != nil {
				page.Failure = clientText(err)
			}
			return
		}
	}
}

// shown are the statistics of the page, by the begin of their names, in this order.
var shown = []string{
	"ratelimit.service.call.", "ratelimit.service.config_", "ratelimit.service.store_failure.", "ratelimit.embedded.", "ratelimit.store_breaker.", "ratelimit.per_second_store_breaker.",
	"ratelimit.redis", "ratelimit.memcache.", "ratelimit.leases.", "ratelimit.per_second_leases.", "ratelimit.localcache.", "ratelimit.grpc.", "ratelimit.go.heapAlloc", "ratelimit.go.numGoroutine", "ratelimit.go.sys",
}

// maxNumbers bounds the statistics of the page.
const maxNumbers = 200

// read sets the statistics.
func (p *healthPage) read(registry *stats.Registry) {
	all := registry.Snapshot()
	for _, begin := range shown {
		for _, numbers := range []map[string]uint64{all.Counters, all.Gauges} {
			for _, name := range slices.Sorted(maps.Keys(numbers)) {
				if strings.HasPrefix(name, begin) && len(p.Numbers) < maxNumbers {
					p.Numbers = append(p.Numbers, number{name, numbers[name], strings.HasSuffix(name, "error") && numbers[name] > 0})
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all.Gauges)) {
		prefix, ok := strings.CutSuffix(name, "breaker.state")
		if !ok {
			continue
		}
		b := breakerState{
			Name: strings.Trim(strings.ReplaceAll(strings.TrimPrefix(prefix, "ratelimit."), "_", " "), ". "), State: "closed",
			Opened: all.Counters[prefix+"breaker.opened"], Refused: all.Counters[prefix+"breaker.refused"],
		}
		if all.Gauges[name] > 0 {
			b.State = "open"
		}
		p.Breakers = append(p.Breakers, b)
	}
	for _, name := range slices.Sorted(maps.Keys(all.Timers)) {
		if t := all.Timers[name]; t.Count > 0 && len(p.Calls) < maxNumbers {
			p.Calls = append(p.Calls, callTimes{name, t})
		}
	}
}
