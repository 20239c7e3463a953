package statsd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Options configure a Sink. A nil *Options means all defaults.
type Options struct {
	// FlushInterval is the time from one flush to the next. Default: 10 seconds.
	FlushInterval time.Duration
	// Tags are added to every statistic, as ".__<tag>=<value>" or in the agent's form.
	// The characters ".", ":" and "|" of values become "_". A tag that the statistic
	// already has is not added.
	Tags []stats.Tag
	// MaxTimerLines is the number of lines that a timer may have in a flush, 1 to
	// 1,000,000. Up to that many, each call has a line, as in the reference service. Of
	// more calls an evenly spaced sample of the sorted durations is sent with its
	// sample rate, which preserves counts and percentiles. Default: 10,000.
	MaxTimerLines int
	// Log receives the failures of flushes: one line when they begin and one when they
	// end. Default: slog.Default().
	Log *slog.Logger

	// Network is "tcp" or "udp". Default: "tcp", as in the reference service. NewAgent
	// always uses UDP.
	Network string
	// Mogrifiers, for NewAgent, map statistics to metrics with tags. The first one that
	// matches applies; other statistics keep their names.
	Mogrifiers []Mogrifier
	// Now, for NewWriter, is the clock of the lines. Default: time.Now.
	Now func() time.Time
}

// withDefaults returns a validated copy with every field set.
func (o *Options) withDefaults() (*Options, error) {
	c := *cmp.Or(o, &Options{})
	c.Tags = slices.Clone(c.Tags)
	c.Network = cmp.Or(c.Network, "tcp")
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	var errs []error
	settings.Default(&errs, "FlushInterval", &c.FlushInterval, 10*time.Second, math.MaxInt64)
	settings.Default(&errs, "MaxTimerLines", &c.MaxTimerLines, 10_000, 1_000_000)
	if c.Network != "tcp" && c.Network != "udp" {
		errs = append(errs, fmt.Errorf(`network %q: use "tcp" or "udp"`, c.Network))
	}
	for i, t := range c.Tags {
		if t.Name == "" || t.Value == "" {
			errs = append(errs, fmt.Errorf("tag %d, %q with value %q: neither the name nor the value may be empty", i+1, t.Name, t.Value))
		}
	}
	return &c, errors.Join(errs...)
}

// checkAddr validates the form of an address. The host is resolved when the sink
// connects, because that may change.
func checkAddr(addr string) error {
	if err := settings.CheckHostPort(addr); err != nil {
		return fmt.Errorf("address %q %w", addr, err)
	}
	return nil
}
