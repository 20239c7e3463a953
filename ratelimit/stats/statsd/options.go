package statsd

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Options are the choices of New. A nil *Options is the zero one.
type Options struct {
	// Network is "tcp" or "udp". Default: "tcp", as in the reference service.
	Network string
	// FlushInterval is the time from one flush to the next. Default: 10 seconds.
	FlushInterval time.Duration
	// Tags are added to every statistic, as ".__<tag>=<value>", sorted among those that
	// its name has already. Of two with the same name that of the statistic stays.
	Tags []stats.Tag
	// MaxPacket is how many bytes a UDP datagram may have, 64 to 65,507. A line that is
	// longer than that goes alone. Default: 1432, which fits an Ethernet frame.
	MaxPacket int
	// MaxTimerLines is how many lines a timer may have in a flush, 1 to 1,000,000. Up to
	// that each call has a line, as in the reference service; of more calls an evenly
	// spaced sample of the sorted durations is sent, with its rate, so that counts and
	// percentiles stay true. Default: 10,000.
	MaxTimerLines int
	// DialTimeout is how long a connection may take to be made. Default: 2 seconds.
	DialTimeout time.Duration
	// WriteTimeout is how long a flush may wait, in all, for a daemon that does not
	// read. Default: 5 seconds.
	WriteTimeout time.Duration
	// Log is told when statistics cannot be sent and when they can be again, once for
	// each time. Default: slog.Default().
	Log *slog.Logger
}

// AgentOptions are the choices of NewAgent. A nil *AgentOptions is the zero one.
type AgentOptions struct {
	// FlushInterval, MaxPacket, MaxTimerLines, DialTimeout, WriteTimeout and Log are
	// those of Options.
	FlushInterval time.Duration
	MaxPacket     int
	MaxTimerLines int
	DialTimeout   time.Duration
	WriteTimeout  time.Duration
	Log           *slog.Logger
	// Tags are added to every statistic. As with Options.Tags, the characters ".", ":"
	// and "|" of their values become "_".
	Tags []stats.Tag
	// Mogrifiers map statistics to metrics with tags. The first one that matches is the
	// one that counts; what none matches goes out under its own name.
	Mogrifiers []Mogrifier
}

// WriterOptions are the choices of NewWriter. A nil *WriterOptions is the zero one.
type WriterOptions struct {
	// FlushInterval, Tags, MaxTimerLines and Log are those of Options.
	FlushInterval time.Duration
	Tags          []stats.Tag
	MaxTimerLines int
	Log           *slog.Logger
	// Now is the clock of the lines' times. Default: time.Now.
	Now func() time.Time
}

// Bounds of MaxPacket: a datagram can hold no more, and with less it would be more
// header than line.
const (
	minPacket = 64
	maxPacket = 65_507
)

const mostTimerLines = 1_000_000

// plain are the options as New's, without Mogrifiers.
func (o *AgentOptions) plain() *Options {
	return &Options{
		Network: "udp", FlushInterval: o.FlushInterval, Tags: o.Tags, MaxPacket: o.MaxPacket,
		MaxTimerLines: o.MaxTimerLines, DialTimeout: o.DialTimeout, WriteTimeout: o.WriteTimeout, Log: o.Log,
	}
}

func (o *WriterOptions) plain() *Options {
	return &Options{FlushInterval: o.FlushInterval, Tags: o.Tags, MaxTimerLines: o.MaxTimerLines, Log: o.Log}
}

// orDefault returns a checked copy with every field set.
func (o *Options) orDefault() (*Options, error) {
	c := *o
	c.Tags = slices.Clone(o.Tags)
	c.Network = cmp.Or(c.Network, "tcp")
	c.FlushInterval = cmp.Or(c.FlushInterval, 10*time.Second)
	c.MaxPacket = cmp.Or(c.MaxPacket, 1432)
	c.MaxTimerLines = cmp.Or(c.MaxTimerLines, 10_000)
	c.DialTimeout = cmp.Or(c.DialTimeout, 2*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	return &c, c.check()
}

func (o *Options) check() error {
	switch {
	case o.Network != "tcp" && o.Network != "udp":
		return fmt.Errorf(`network %q: use "tcp" or "udp"`, o.Network)
	case o.FlushInterval < 0:
		return fmt.Errorf("FlushInterval %v: use a duration above 0, such as 10s", o.FlushInterval)
	case o.MaxPacket < minPacket || o.MaxPacket > maxPacket:
		return fmt.Errorf("MaxPacket %d: use %d to %d bytes", o.MaxPacket, minPacket, maxPacket)
	case o.MaxTimerLines < 1 || o.MaxTimerLines > mostTimerLines:
		return fmt.Errorf("MaxTimerLines %d: use 1 to %d", o.MaxTimerLines, mostTimerLines)
	case o.DialTimeout < 0:
		return fmt.Errorf("DialTimeout %v: use a duration above 0, such as 2s", o.DialTimeout)
	case o.WriteTimeout < 0:
		return fmt.Errorf("WriteTimeout %v: use a duration above 0, such as 5s", o.WriteTimeout)
	}
	for i, t := range o.Tags {
		if t.Name == "" || t.Value == "" {
			return fmt.Errorf("tag %d, %q with value %q: use a name and a value, neither empty", i+1, t.Name, t.Value)
		}
	}
	return nil
}

// checkAddr refuses what can never be an address. Whether the host is known is not
// asked: that may change.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(port, 10, 16)
		if err == nil && n != 0 && host != "" {
			return nil
		}
	}
	return fmt.Errorf("address %q: use <host>:<port> with a port from 1 to 65535, such as localhost:8125", addr)
}
