package prom

import (
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Stats counts the decisions of an engine or a limiter in the process, and shows them
// as metrics: set it as ratelimit.Options.Stats and register it with any
// prometheus.Registerer. Metrics are named as those of the service. The engine limits
// the names that requests bring (ratelimit.Options.MaxRequestStats), and names of rules
// that are no longer in use are forgotten, so the number of series is bounded.
type Stats struct {
	*Exporter
	ratelimit.ExtendedStats
}

// NewStats returns a Stats. opts may be nil. It fails as New does.
func NewStats(opts *Options) (*Stats, error) {
	registry := stats.New(nil)
	e, err := New(registry, opts)
	if err != nil {
		return nil, err
	}
	return &Stats{e, registry}, nil
}
