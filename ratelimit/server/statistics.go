package server

import (
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// counts are the statistics of the server itself (reference 1.14). They are there from
// the start, so that a first error is seen to be one more than none.
type counts struct {
	loadSuccess, loadError     *ratelimit.Counter
	loadOK                     *stats.Gauge // 1 if the last load succeeded, 0 if it was refused or there was none
	storeErrors, serviceErrors *ratelimit.Counter
}

func (s *Server) buildStatistics() error {
	r := stats.New(&stats.Options{Keep: max(10*time.Minute, 3*s.settings.StatsFlushInterval)})
	s.registry = r
	s.counts = counts{
		loadSuccess:   r.Counter("ratelimit.service.config_load_success"),
		loadError:     r.Counter("ratelimit.service.config_load_error"),
		loadOK:        r.Gauge("ratelimit.service.config_load_ok"),
		storeErrors:   r.Counter("ratelimit.service.call.should_rate_limit.redis_error"),
		serviceErrors: r.Counter("ratelimit.service.call.should_rate_limit.service_error"),
	}
	r.Source(stats.GoRuntime)
	return s.buildSinks()
}

// method is the statistics of a gRPC method.
func (s *Server) method(name string) *method {
	return &method{
		total: s.registry.Counter("ratelimit_server." + name + ".total_requests"),
		time:  s.registry.Timer("ratelimit_server." + name + ".response_time"),
	}
}

type method struct {
	total *ratelimit.Counter
	time  *stats.Timer
}

// Record counts one call.
func (m *method) Record(took time.Duration) {
	m.total.Add(1)
	m.time.Record(took)
}
