// Package circuit decides when calls to a server are suspended, and finds out when it
// responds again.
//
//	c := circuit.New(&circuit.Options{Probe: ping}, &totals)
//	defer c.Close()
//	if !c.Allow() {
//		return errOpen
//	}
//	began := time.Now()
//	if err := attempt(); err != nil {
//		c.Failed(began, err)
//	} else {
//		c.Succeeded()
//	}
//
// An attempt is whatever the caller sends at once, such as a pipeline of many calls. Only
// failures to reach the server or to get its reply in time are to be reported, not replies
// that are errors, and not limits of the caller itself.
//
// # States
//
// After a failure the circuit is suspected, and probes begin: new connections on which the
// server is asked for a reply. A probe that succeeds ends the suspicion. If none does, and
// at least half of the attempts have failed over [Evidence], among them Failures, the circuit
// opens: Allow returns false. The first success of a probe or of an attempt closes it.
//
// # Design notes
//
// Probes are made in the background, so no caller waits for them. They begin in intervals
// that double from Wait to MaxWait, with jitter, whether those before have ended or not: the
// packets of a connection that is being opened while the network is down are repeated only
// after seconds, those of a new one are sent at once.
//
// Nobody asks for a server that has left a cluster. So the probes of a circuit end when
// Allow was not called for a while, and the circuit is closed.
package circuit

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

const (
	// Evidence is for how long attempts must fail before a circuit opens.
	Evidence = 250 * time.Millisecond

	defaultFailures = 3
	defaultWait     = 10 * time.Millisecond
	defaultMaxWait  = 100 * time.Millisecond
	defaultTimeout  = time.Second
	// shortProbe limits all probes but one at a time, which has Timeout: a distant server
	// may need longer.
	shortProbe = 600 * time.Millisecond
	// maxProbes bounds the probes that run at once.
	maxProbes = 8
	// idleProbes is the time for which probes go on without a call.
	idleProbes = 10 * time.Second
)

// Options configures a Circuit.
type Options struct {
	// Failures is the least number of attempts that have failed, probes included. Default: 3.
	Failures int
	// Wait is the pause after the first probe, MaxWait the longest. Defaults: 10 and 100
	// milliseconds. MaxWait is at least Wait.
	Wait, MaxWait time.Duration
	// Timeout limits a probe. Default: one second.
	Timeout time.Duration
	// Probe opens a connection and returns nil if the server replies on it. It returns soon
	// after its context has ended.
	Probe func(context.Context) error
	// Recovered, if not nil, is called when probes have ended: the server may reply again.
	Recovered func()
	// Name is that of the server in the log.
	Name string
	// Log receives a record when the circuit opens and closes. Default: slog.Default().
	Log *slog.Logger
}

// Circuit suspends calls to one server. It is safe for concurrent use.
type Circuit struct {
	opts    Options
	probing atomic.Bool // the circuit is suspected or open
	open    atomic.Bool
	wanted  atomic.Bool // Allow was called
	totals  *Totals
	started time.Time
	replied atomic.Int64 // when an attempt succeeded last, in nanoseconds since started

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu                 sync.Mutex
	closed             bool
	attempts, failures int       // while suspected
	since              time.Time // the beginning of the first failed attempt
	cleared            time.Time // the last success of a probe: earlier attempts are no evidence
}

// Totals counts what happened to all circuits of a store.
type Totals struct {
	// Open counts the circuits that are open now. Opened counts how often one has opened, and
	// Refused how many calls were not allowed.
	Open            atomic.Int64
	Opened, Refused atomic.Uint64
}

// New returns a closed circuit that counts in totals. Close stops its probes.
func New(opts *Options, totals *Totals) *Circuit {
	c := &Circuit{opts: *opts, totals: totals, started: time.Now()}
	o := &c.opts
	o.Failures = cmp.Or(max(o.Failures, 0), defaultFailures)
	o.Wait = cmp.Or(max(o.Wait, 0), defaultWait)
	o.MaxWait = max(cmp.Or(max(o.MaxWait, 0), defaultMaxWait), o.Wait)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Log = cmp.Or(o.Log, slog.Default())
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Allow reports whether a call may be made.
func (c *Circuit) Allow() bool {
	if !c.probing.Load() {
		return true
	}
	c.wanted.Store(true)
	if !c.open.Load() {
		return true
	}
	c.totals.Refused.Add(1)
	return false
}

// Recovered reports whether probes have ended or the circuit was closed within the last period, which means that
// attempts from before may hang although the server replies.
func (c *Circuit) Recovered(within time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.cleared.IsZero() && time.Since(c.cleared) < within
}

// Open reports whether calls are suspended.
func (c *Circuit) Open() bool { return c.open.Load() }

// Succeeded records an attempt that got a reply.
func (c *Circuit) Succeeded() {
	c.replied.Store(int64(time.Since(c.started)))
	if !c.probing.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	c.close("the counter store responds again")
}

// Check starts probes if no attempt has succeeded for that long. They are no evidence unless
// an attempt has failed too.
func (c *Circuit) Check(silence time.Duration) {
	if c.probing.Load() || time.Since(c.lastReply()) < silence {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startProbes()
}

// lastReply returns when an attempt succeeded last.
func (c *Circuit) lastReply() time.Time { return c.started.Add(time.Duration(c.replied.Load())) }

// Failed records an attempt that got no reply. It is no evidence for the time in which others
// did.
func (c *Circuit) Failed(began time.Time, err error) {
	if last := c.lastReply(); last.After(began) {
		began = last
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !began.After(c.cleared) {
		return
	}
	if c.failures == 0 || began.Before(c.since) {
		c.since = began
	}
	c.fail(err)
	c.startProbes()
}

// fail counts a failure and opens the circuit if it is enough evidence. The mutex is held.
func (c *Circuit) fail(err error) {
	c.attempts++
	c.failures++
	if c.open.Load() || c.failures < c.opts.Failures || time.Since(c.since) < Evidence {
		return
	}
	if 2*c.failures < c.attempts {
		c.attempts, c.failures = 0, 0
		return
	}
	c.open.Store(true)
	c.totals.Opened.Add(1)
	c.totals.Open.Add(1)
	c.opts.Log.Warn("the counter store is failing; calls to it are suspended", "server", c.opts.Name, "err", err)
}

// close closes an open circuit for a reason. The mutex is held.
func (c *Circuit) close(reason string) {
	if c.open.Load() {
		c.open.Store(false)
		c.totals.Open.Add(-1)
		c.attempts, c.failures = 0, 0
		c.cleared = time.Now()
		c.opts.Log.Info(reason, "server", c.opts.Name)
	}
}

// startProbes starts probes unless they run. The mutex is held.
func (c *Circuit) startProbes() {
	if !c.closed && !c.probing.Swap(true) {
		c.wanted.Store(true)
		c.running.Go(c.probe)
	}
}

// endProbes ends the suspicion, because a probe has succeeded or nobody needs the server.
func (c *Circuit) endProbes(succeeded bool) {
	reason := "the counter store responds again"
	if !succeeded {
		reason = "a server of the counter store is not needed any more; its circuit is closed"
	}
	c.mu.Lock()
	c.close(reason)
	c.attempts, c.failures = 0, 0
	c.cleared = time.Now()
	c.probing.Store(false)
	c.mu.Unlock()
	if c.opts.Recovered != nil {
		c.opts.Recovered()
	}
}

// probe makes probes until one succeeds, nobody calls any more, or the circuit is closed.
func (c *Circuit) probe() {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	succeeded := false
	defer func() { c.endProbes(succeeded) }()
	retry := backoff.Backoff{Initial: c.opts.Wait, Max: c.opts.MaxWait, Jitter: 0.25}
	results := make(chan result, maxProbes)
	timer := time.NewTimer(0)
	defer timer.Stop()
	running, long, wanted := 0, false, time.Now()
	for count := 0; ; {
		select {
		case <-timer.C:
			if c.wanted.Swap(false) {
				wanted = time.Now()
			} else if time.Since(wanted) > idleProbes {
				return
			}
			timer.Reset(retry.Wait(count))
			count++
			if running == maxProbes {
				continue
			}
			running++
			isLong, timeout := !long, min(shortProbe, c.opts.Timeout)
			if isLong {
				long, timeout = true, c.opts.Timeout
			}
			all.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				results <- result{isLong, c.opts.Probe(ctx)}
			})
		case r := <-results:
			running--
			long = long && !r.long
			if succeeded = r.err == nil; succeeded {
				return
			}
			c.mu.Lock()
			if c.failures > 0 && c.ctx.Err() == nil { // an attempt has failed before
				c.fail(r.err)
			}
			c.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// result is that of one probe.
type result struct {
	long bool // it had the whole timeout
	err  error
}

// Close stops the probes and returns when they have ended. It may be called twice.
func (c *Circuit) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.running.Wait()
}
