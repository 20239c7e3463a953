package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// buildSinks makes everything that carries statistics to where they are looked at.
// Several may be on at the same time; with none of them they go to standard output
// (specification, "Statistics").
func (s *Server) buildSinks() error {
	set := s.settings
	if set.DisableStats {
		return nil
	}
	tags := tagsOf(set.ExtraTags)
	for _, sink := range []struct {
		on    bool
		build func([]stats.Tag) error
	}{
		{set.UsePushStats, s.buildPush},
		{set.UseAgentStats, s.buildAgent},
		{set.UseScrape, s.buildScrape},
		{!set.UsePushStats && !set.UseAgentStats && !set.UseScrape, s.buildOutput},
	} {
		if !sink.on {
			continue
		}
		if err := sink.build(tags); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) buildPush(tags []stats.Tag) error {
	return s.addSink(statsd.New(s.registry, s.pushAddress(), &statsd.Options{
		Network: s.settings.PushStatsProtocol, FlushInterval: s.settings.StatsFlushInterval, Tags: tags, Log: s.log,
	}))
}

func (s *Server) buildAgent(tags []stats.Tag) error {
	opts := &statsd.Options{FlushInterval: s.settings.StatsFlushInterval, Tags: tags, Log: s.log}
	for _, m := range s.settings.Mogrifiers {
		opts.Mogrifiers = append(opts.Mogrifiers, statsd.Mogrifier(m))
	}
	return s.addSink(statsd.NewAgent(s.registry, s.pushAddress(), opts))
}

func (s *Server) buildOutput(tags []stats.Tag) error {
	w := s.opts.Output
	if w == nil {
		w = os.Stdout
	}
	return s.addSink(statsd.NewWriter(s.registry, w, &statsd.Options{
		FlushInterval: s.settings.StatsFlushInterval, Tags: tags, Log: s.log,
	}))
}

func (s *Server) pushAddress() string {
	return net.JoinHostPort(s.settings.PushStatsHost, strconv.Itoa(s.settings.PushStatsPort))
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

// buildScrape makes the handler of the scrape listener, which serves its one path.
func (s *Server) buildScrape(tags []stats.Tag) error {
	e, err := prom.New(s.registry, &prom.Options{
		MapperFile:                 s.settings.ScrapeMapperYAML,
		ResponseTimeAsMilliseconds: s.settings.ScrapeMilliseconds,
		Tags:                       tags,
		Log:                        s.log,
	})
	if err != nil {
		return fmt.Errorf("metrics to be scraped (SCRAPE_MAPPER_YAML, EXTRA_TAGS): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle(s.settings.ScrapePath, e.Handler())
	s.scrape = mux
	return nil
}

func tagsOf(pairs []settings.Pair) []stats.Tag {
	tags := make([]stats.Tag, len(pairs))
	for i, p := range pairs {
		tags[i] = stats.Tag{Name: p.Name, Value: p.Value}
	}
	return tags
}
