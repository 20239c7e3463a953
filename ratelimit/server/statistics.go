package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// buildStatistics creates the statistics of the server itself (REFERENCE.md, 5.1). They exist from
// the start, so that the first error is an increase.
func (s *Server) buildStatistics() {
	r := stats.New(&stats.Options{Keep: max(10*time.Minute, 3*s.settings.StatsFlushInterval)})
	s.registry = r
	s.loadSuccess, s.loadError = r.Counter("ratelimit.service.config_load_success"), r.Counter("ratelimit.service.config_load_error")
	s.loadOK = r.Gauge("ratelimit.service.config_load_ok")
	s.storeErrors = r.Counter("ratelimit.service.call.should_rate_limit.redis_error")
	s.serviceErrors = r.Counter("ratelimit.service.call.should_rate_limit.service_error")
	r.Source(stats.GoRuntime)
}

// method is the statistics of a gRPC method.
type method struct {
	total *ratelimit.Counter
	time  *stats.Timer
}

func (s *Server) method(name string) *method {
	return &method{
		total: s.registry.Counter("ratelimit_server." + name + ".total_requests"),
		time:  s.registry.Timer("ratelimit_server." + name + ".response_time"),
	}
}

// Record implements service.Recorder.
func (m *method) Record(took time.Duration) {
	m.total.Add(1)
	m.time.Record(took)
}

// buildSinks creates everything that exports statistics. If the settings enable nothing,
// they are written to standard output (REFERENCE.md, 5.4).
func (s *Server) buildSinks(context.Context) error {
	set := s.settings
	if set.DisableStats {
		return nil
	}
	tags := make([]stats.Tag, len(set.ExtraTags))
	for i, p := range set.ExtraTags {
		tags[i] = stats.Tag(p)
	}
	addr := net.JoinHostPort(set.PushStatsHost, strconv.Itoa(set.PushStatsPort))
	opts := &statsd.Options{Network: set.PushStatsProtocol, FlushInterval: set.StatsFlushInterval, Tags: tags, Log: s.log}
	for _, m := range set.Mogrifiers {
		opts.Mogrifiers = append(opts.Mogrifiers, statsd.Mogrifier(m))
	}
	if set.UsePushStats {
		if err := s.addSink(statsd.New(s.registry, addr, opts)); err != nil {
			return err
		}
	}
	if set.UseAgentStats {
		if err := s.addSink(statsd.NewAgent(s.registry, addr, opts)); err != nil {
			return err
		}
	}
	if set.UseScrape {
		return s.buildScrape(tags)
	}
	if set.UsePushStats || set.UseAgentStats {
		return nil
	}
	return s.addSink(statsd.NewWriter(s.registry, cmp.Or[io.Writer](s.opts.Output, os.Stdout), opts))
}

func (s *Server) addSink(sink *statsd.Sink, err error) error {
	if err != nil {
		return fmt.Errorf("statistics: %w", err)
	}
	s.sinks = append(s.sinks, func(ctx context.Context) {
		if err := sink.Run(ctx); err != nil {
			s.log.Error("statistics are not pushed", "err", err)
		}
	})
	return nil
}

// buildScrape creates the handler of the scrape listener, which serves a single path.
func (s *Server) buildScrape(tags []stats.Tag) error {
	var mapping []byte // nil for the built-in one
	path, setting := s.settings.ScrapeMapperYAML, s.settings.ScrapeMapperSetting
	if path != "" {
		var err error
		mapping, err = os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// Such as an optional volume that is not there. Decisions matter more than names of metrics.
			s.log.Error("the mapping of metrics does not exist: the built-in one is used; create the file, or unset "+setting, "setting", setting, "file", path)
		case err != nil:
			return fmt.Errorf("metrics for scrapers (%s): %w", setting, err)
		}
	}
	e, err := prom.New(s.registry, &prom.Options{
		Mapping:                    mapping,
		ResponseTimeAsMilliseconds: s.settings.ScrapeMilliseconds,
		Tags:                       tags,
		TopKeys:                    func() *ratelimit.TopKeys { return s.engine.TopKeys() },
		TopKeysPerRule:             s.settings.ScrapeTopKeys,
		Log:                        s.log,
	})
	switch {
	case err != nil && mapping != nil:
		return fmt.Errorf("metrics for scrapers (%s=%s, EXTRA_TAGS): %w", setting, path, err)
	case err != nil:
		return fmt.Errorf("metrics for scrapers (EXTRA_TAGS): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle(s.settings.ScrapePath, e.Handler())
	s.scrape = mux
	return nil
}
