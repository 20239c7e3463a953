package statsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Sink sends the statistics of a registry at intervals. New, NewAgent and NewWriter
// make one; Run has it work.
type Sink struct {
	flusher  flusher
	interval time.Duration
	outage   outage
	log      *slog.Logger
	ran      atomic.Bool
	tooLong  bool // has been told of
}

// New returns a Sink that speaks the plain push protocol to a daemon at addr,
// "<host>:<port>". It fails if addr or opts, which may be nil, make no sense; whether
// the daemon is there only matters to Run.
func New(registry *stats.Registry, addr string, opts *Options) (*Sink, error) {
	o, err := cmp.Or(opts, &Options{}).orDefault()
	if err == nil {
		err = checkAddr(addr)
	}
	if err != nil {
		return nil, fmt.Errorf("statsd: %w", err)
	}
	return newSink(registry, addr, plain{o.Tags}, o.carrier(addr), o), nil
}

// NewAgent returns a Sink that speaks the protocol with tags to an agent at addr,
// "<host>:<port>", over UDP. It fails if addr or opts, which may be nil, make no sense.
func NewAgent(registry *stats.Registry, addr string, opts *AgentOptions) (*Sink, error) {
	opts = cmp.Or(opts, &AgentOptions{})
	o, err := opts.plain().orDefault()
	if err == nil {
		err = checkAddr(addr)
	}
	d := &agent{}
	for i := range opts.Mogrifiers {
		if err != nil {
			break
		}
		var m mogrifier
		m, err = opts.Mogrifiers[i].compile()
		d.mogrifiers = append(d.mogrifiers, m)
	}
	if err != nil {
		return nil, fmt.Errorf("statsd: agent: %w", err)
	}
	d.tags = o.Tags
	return newSink(registry, addr, d, o.carrier(addr), o), nil
}

// NewWriter returns a Sink that writes a JSON object for each line of the push
// protocol, and one at the end of each flush. w is given whole lines. While a Write of
// it blocks, Run cannot end. opts may be nil; it fails if they make no sense.
func NewWriter(registry *stats.Registry, w io.Writer, opts *WriterOptions) (*Sink, error) {
	opts = cmp.Or(opts, &WriterOptions{})
	o, err := opts.plain().orDefault()
	if err != nil {
		return nil, fmt.Errorf("statsd: writer: %w", err)
	}
	d := &lines{tags: o.Tags, now: opts.Now}
	if d.now == nil {
		d.now = time.Now
	}
	return newSink(registry, "writer", d, writer{w}, o), nil
}

func (o *Options) carrier(addr string) carrier {
	if o.Network == "udp" {
		return &packet{addr: addr, dial: o.DialTimeout, timeout: o.WriteTimeout, max: o.MaxPacket}
	}
	return &stream{addr: addr, dial: o.DialTimeout, timeout: o.WriteTimeout}
}

func newSink(registry *stats.Registry, addr string, d dialect, c carrier, o *Options) *Sink {
	s := &Sink{
		interval: o.FlushInterval,
		outage:   outage{log: o.Log, to: addr},
		log:      o.Log,
	}
	s.flusher.registry, s.flusher.dialect, s.flusher.carrier = registry, d, c
	s.flusher.ledger = newLedger(s.label)
	s.flusher.most = uint64(o.MaxTimerLines)
	registry.Observe(func(name string) func(time.Duration) { return s.flusher.observe(name).observe })
	return s
}

// label leaves out what is too long to be sent, and says so the first time.
func (s *Sink) label(name string) label {
	l, ok := fitting(s.flusher.dialect, name)
	if !ok && !s.tooLong {
		s.tooLong = true
		s.log.Warn("the name and the tags of a statistic are too long to be sent; it is left out, and so are others like it",
			"most_bytes", maxLabel, "name", name[:min(len(name), 100)]+"...")
	}
	return l
}

// fitting is the label of a statistic if it is not too long.
func fitting(d dialect, name string) (label, bool) {
	if len(name) > maxLabel {
		return label{}, false
	}
	l := d.label(name)
	if len(l.head)+len(l.tail) > maxLabel {
		return label{}, false
	}
	return l, true
}

// Run flushes at intervals until ctx ends, and once more then. A flush that is under
// way when ctx ends may end first, so Run returns DialTimeout and twice WriteTimeout
// after ctx at the latest. It may be called once; to do so again is the only error.
func (s *Sink) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("statsd: Run has been called before: make another Sink")
	}
	defer s.flusher.carrier.close()
	defer s.flusher.off.Store(true)
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.flush(context.WithoutCancel(ctx), true)
			return nil
		case <-tick.C:
			s.flush(ctx, false)
		}
	}
}

// flush reads the registry, so that nothing it forgets meanwhile is missed, and sends
// what there is unless it is too early to try again.
func (s *Sink) flush(ctx context.Context, last bool) {
	f := &s.flusher
	f.ledger.read(f.registry)
	if !last && s.outage.waits() {
		return
	}
	switch err := f.flush(ctx); {
	case err == nil:
		s.outage.over(&f.ledger.lost)
	case ctx.Err() == nil: // else it was told to stop, and the last flush is next
		s.outage.failed(err, last)
	}
}

// writer carries lines to an io.Writer.
type writer struct{ w io.Writer }

func (writer) open(context.Context) error { return nil }
func (writer) close()                     {}

func (w writer) send(lines []byte, ends []int) (int, error) {
	n, err := w.w.Write(lines)
	return taken(ends, n), err
}
