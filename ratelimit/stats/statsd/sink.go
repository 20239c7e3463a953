package statsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Sink sends the statistics of a registry at intervals. Create one with New, NewAgent
// or NewWriter, and call Run. A sink that is not running costs nothing.
type Sink struct {
	deltas    *deltas
	format    format
	transport transport
	batch     batch
	maxLines  uint64 // for each timer and flush
	interval  time.Duration
	addr      string
	log       *slog.Logger
	ran       atomic.Bool

	reportedLong bool // a name that is too long
	reached      bool // a daemon was reached once
	failures     int  // flushes in a row
	failingSince time.Time
	retryAt      time.Time
}

// New returns a Sink that sends the plain push protocol to a daemon at addr,
// "<host>:<port>". It fails if addr or opts, which may be nil, are invalid; it does
// not connect.
func New(registry *stats.Registry, addr string, opts *Options) (*Sink, error) {
	o, err := opts.withDefaults()
	err = cmp.Or(err, checkAddr(addr))
	if err != nil {
		return nil, fmt.Errorf("statsd: %w", err)
	}
	return newSink(registry, addr, plain{tags: o.Tags}, &conn{network: o.Network, addr: addr, timeout: writeTimeout}, o), nil
}

// NewAgent returns a Sink that sends the protocol with tags to an agent at addr,
// "<host>:<port>", over UDP. It fails if addr or opts, which may be nil, are invalid.
func NewAgent(registry *stats.Registry, addr string, opts *Options) (*Sink, error) {
	o, err := opts.withDefaults()
	err = cmp.Or(err, checkAddr(addr))
	f := &agent{tags: o.Tags}
	for i := 0; i < len(o.Mogrifiers) && err == nil; i++ {
		var m mogrifier
		m, err = o.Mogrifiers[i].compile()
		f.mogrifiers = append(f.mogrifiers, m)
	}
	if err != nil {
		return nil, fmt.Errorf("statsd: agent: %w", err)
	}
	return newSink(registry, addr, f, &conn{network: "udp", addr: addr, timeout: writeTimeout}, o), nil
}

// NewWriter returns a Sink that writes a JSON object for each line of the push
// protocol, and one at the end of each flush. Each Write contains whole lines; Run
// cannot return while one blocks. It fails if opts, which may be nil, are invalid.
func NewWriter(registry *stats.Registry, w io.Writer, opts *Options) (*Sink, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("statsd: writer: %w", err)
	}
	return newSink(registry, "writer", &jsonLines{tags: o.Tags, now: o.Now}, writer{w}, o), nil
}

func newSink(registry *stats.Registry, addr string, f format, c transport, o *Options) *Sink {
	s := &Sink{
		format: f, transport: c, addr: addr, log: o.Log,
		interval: o.FlushInterval, maxLines: uint64(o.MaxTimerLines),
	}
	s.deltas = newDeltas(registry, s.label)
	return s
}

// label returns the label of a statistic. It reports the first name that is too long.
func (s *Sink) label(name string) label {
	l, ok := labelOf(s.format, name)
	if !ok && !s.reportedLong {
		s.reportedLong = true
		s.log.Warn("statistics are not sent because their names and tags are too long; only the first one is reported",
			"max_bytes", maxLabel, "name", name[:min(len(name), 100)]+"...")
	}
	return l
}

// Run flushes at intervals until ctx ends, and then once more. A flush that is in
// progress when ctx ends may complete first, so Run returns at most 12
// seconds after ctx. It may be called once; a second call is the only error.
func (s *Sink) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("statsd: Run has been called before: create another Sink")
	}
	defer s.transport.close()
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.flush(context.WithoutCancel(ctx), true)
			return nil
		case <-ticker.C:
			s.flush(ctx, false)
		}
	}
}

// flush reads the registry, so that nothing that it forgets is missed, and sends
// everything unless it is too early for another attempt.
func (s *Sink) flush(ctx context.Context, last bool) {
	s.deltas.read()
	if !last && s.failures > 0 && time.Now().Before(s.retryAt) {
		return
	}
	switch err := s.sendAll(ctx); {
	case err == nil:
		if s.failures > 0 {
			s.log.Info("statistics can be sent again", "to", s.addr,
				"after", time.Since(s.failingSince).Round(time.Millisecond), "counts_lost_with_forgotten_names", s.deltas.lost)
		}
		s.failures, s.deltas.lost = 0, 0
	case last:
		s.reportLoss(err)
	case ctx.Err() == nil: // else the last flush follows
		s.failed(err)
	}
}

var retry = backoff.Backoff{Initial: 100 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.5}

func (s *Sink) failed(err error) {
	if s.failures == 0 {
		s.failingSince = time.Now()
		s.log.Warn("statistics cannot be sent; they are retained until they can", "to", s.addr, "error", err)
	}
	s.retryAt = time.Now().Add(retry.Wait(s.failures))
	s.failures++
}

// reportLoss logs what the last flush could not send. It is no warning if the daemon
// was never reached: push statistics are on by default, and there may be none.
func (s *Sink) reportLoss(err error) {
	counts, calls := s.deltas.unsent()
	if counts+calls == 0 {
		return
	}
	level := slog.LevelInfo
	if s.reached {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "the last statistics could not be sent and are lost",
		"to", s.addr, "counts", counts, "calls", calls, "error", err)
}

// batchBytes is the size from which on a batch is sent.
const batchBytes = 32 << 10

// batch holds the lines that are being written, their ends, and what to update when
// they were sent.
type batch struct {
	lines []byte
	ends  []int
	parts []part
}

// part is the content of a line: n counts of a counter or n calls of a timer.
type part struct {
	of interface{ sent(n uint64) } // nil for lines that are not retained
	n  uint64
}

func (b *batch) clear() {
	clear(b.parts) // or they would retain forgotten statistics
	b.lines, b.ends, b.parts = b.lines[:0], b.ends[:0], b.parts[:0]
}

// sendAll sends everything that was not sent.
func (s *Sink) sendAll(ctx context.Context) error {
	if err := s.transport.open(ctx); err != nil {
		return err
	}
	s.reached = true
	s.format.begin()
	err := s.writeAll()
	s.batch.clear()
	if err != nil {
		s.transport.close()
	}
	return err
}

func (s *Sink) writeAll() (err error) {
	for _, c := range s.deltas.counters {
		if c.unsent == 0 {
			continue
		}
		n := min(c.unsent, math.MaxInt64) // agents read signed numbers
		if err := s.add(sample{label: c.label, kind: counterKind, value: n}, part{c, n}); err != nil {
			return err
		}
	}
	for _, g := range s.deltas.gauges {
		if g.quiet && s.failures == 0 {
			continue
		}
		if err := s.add(sample{label: g.label, kind: gaugeKind, value: g.last}, part{}); err != nil {
			return err
		}
	}
	for _, t := range s.deltas.timers {
		t.each(t.read(), s.maxLines, func(ms, calls uint64, rate float64) bool {
			err = s.add(sample{label: t.label, kind: timerKind, value: ms, rate: rate}, part{t, calls})
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	before := len(s.batch.lines)
	if s.batch.lines = s.format.end(s.batch.lines); len(s.batch.lines) > before {
		s.batch.ends, s.batch.parts = append(s.batch.ends, len(s.batch.lines)), append(s.batch.parts, part{})
	}
	return s.send()
}

// add writes a line, and sends the batch when it is full.
func (s *Sink) add(line sample, p part) error {
	if line.label.head == "" {
		return nil
	}
	b := &s.batch
	b.lines = s.format.line(b.lines, line)
	b.ends = append(b.ends, len(b.lines))
	b.parts = append(b.parts, p)
	if len(b.lines) < batchBytes {
		return nil
	}
	return s.send()
}

// send sends the batch and updates the statistics whose lines were accepted.
func (s *Sink) send() error {
	if len(s.batch.ends) == 0 {
		return nil
	}
	n, err := s.transport.send(s.batch.lines, s.batch.ends)
	for _, p := range s.batch.parts[:n] {
		if p.of != nil {
			p.of.sent(p.n)
		}
	}
	s.batch.clear()
	return err
}
