package redisstore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

const (
	// maxPipelineTime limits how long calls wait for the pipeline that is running before
	// another begins beside it. A single pipeline at a time gathers the most calls, and
	// with a server nearby none takes that long.
	maxPipelineTime = time.Millisecond
	// maxBatchHits limits the hits of a pipeline.
	maxBatchHits = 1024
	// stalled is the time without a reply after which a server is probed.
	stalled = 250 * time.Millisecond
)

// shared has the state that the queues of a store share.
type shared struct {
	send     func(ctx context.Context, r request) error // makes the calls of a request
	ping     func(ctx context.Context) error
	opts     Options
	clock    *clock
	ledgers  ledgers
	dialer   *dialer
	expiries *expiryTable
	callPool callPool
	batches  sync.Pool
	circuits circuit.Totals

	// plain is set when SET or PEXPIRE is not known: INCRBY, EXPIRE and GET are used.
	plain atomic.Bool
	// expiryUnsupported is set when no command that sets an expiry is known, which is logged once.
	expiryUnsupported atomic.Bool
}

// queue holds the calls for one server, or for the master of a group. Workers send them
// in batches: a worker is a goroutine that runs one pipeline after the other as long as
// there are calls.
type queue struct {
	*shared
	name      string // of the server, for errors
	pipeline  func() redis.Pipeliner
	reload    func() // makes a cluster client look for the servers of its slots; may be nil
	started   time.Time
	circuit   *circuit.Circuit
	suspended error // ErrSuspended with the address

	mu      sync.Mutex
	calls   []*call
	hits    int // and charges and pings of the calls
	workers int
	extra   int // workers beyond PoolSize
	timer   *time.Timer
	closed  bool
	begun   time.Duration // when the first of the running workers started
	running sync.WaitGroup
}

func (s *shared) newQueue(name string, pipeline func() redis.Pipeliner) *queue {
	q := &queue{
		shared: s, name: name, pipeline: pipeline, started: time.Now(),
		suspended: fmt.Errorf("%w (%s)", ErrSuspended, name),
	}
	q.circuit = circuit.New(&circuit.Options{
		Failures: s.opts.BreakerFailures, Wait: s.opts.BreakerWait, MaxWait: s.opts.BreakerMaxWait,
		Timeout: s.opts.Timeout, Probe: q.probe, Recovered: q.recovered, Name: name, Log: s.opts.Log,
	}, &s.circuits)
	return q
}

// probe opens a connection of its own and returns nil if the server replies on it, with
// anything.
func (q *queue) probe(ctx context.Context) error {
	if q.reload != nil {
		q.reload()
	}
	client := q.dialer.single(ctx, q.name)
	defer func() { _ = client.Close() }()
	if err := client.Ping(ctx).Err(); err != nil && !isReply(err) {
		return q.connectionError(err)
	}
	return nil
}

// add appends a call. If no worker is running, it starts one.
func (q *queue) add(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case len(q.calls) >= q.opts.MaxWaiting:
		return ErrBusy
	case c.kind != pingCall && !q.circuit.Allow():
		return q.suspended
	}
	c.since = time.Since(q.started)
	if q.workers > 0 && c.since-q.begun > stalled {
		q.circuit.Check(stalled)
	}
	q.calls = append(q.calls, c)
	q.hits += len(c.items)
	switch {
	case q.workers == 0, q.hits >= maxBatchHits && q.workers < q.opts.PoolSize:
		q.startWorker(false)
	case len(q.calls) == 1:
		q.setTimer()
	}
	return nil
}

// startWorker starts a worker; an extra one runs one pipeline only. The mutex is held.
func (q *queue) startWorker(extra bool) {
	if q.workers++; q.workers == 1 {
		q.begun = time.Since(q.started)
	}
	if extra {
		q.extra++
	}
	q.running.Go(func() { q.work(extra) })
}

func (q *queue) work(extra bool) {
	b, ok := q.batches.Get().(*batch)
	if !ok {
		b = &batch{index: make(map[uint64]int)}
	}
	defer q.batches.Put(b)
	for more := true; more; more = !extra {
		time.Sleep(q.opts.PipelineWindow)
		// Callers that are about to call, among them those that have just been served, get the
		// processor first, so that the batch has their calls too.
		runtime.Gosched()
		if !q.fill(b, extra) {
			return
		}
		q.serve(b)
		b.reset()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endWorker(extra)
}

// endWorker is called when a worker ends. The mutex is held.
func (q *queue) endWorker(extra bool) {
	q.workers--
	if extra {
		q.extra--
	}
	q.setTimer()
}

// fill moves calls from the queue to the batch. If there are none, it ends the worker
// and returns false.
func (q *queue) fill(b *batch, extra bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	used := 0
	for used < len(q.calls) && b.hits < maxBatchHits {
		c := q.calls[used]
		used++
		q.hits -= len(c.items)
		since := c.since
		if !c.start() {
			continue
		}
		if len(b.calls) == 0 {
			b.deadline = q.started.Add(since + q.opts.Timeout)
		}
		b.calls = append(b.calls, c)
		b.hits += len(c.items)
	}
	q.removeFirst(used)
	if len(b.calls) == 0 {
		q.endWorker(extra)
		return false
	}
	q.setTimer()
	return true
}

func (q *queue) removeFirst(count int) {
	rest := copy(q.calls, q.calls[count:])
	clear(q.calls[rest:])
	q.calls = q.calls[:rest]
}

// failFirst fails the first calls with err. The mutex is held.
func (q *queue) failFirst(count int, err error) {
	for _, c := range q.calls[:count] {
		q.hits -= len(c.items)
		if c.start() {
			c.err = err
			c.finish()
		}
	}
	q.removeFirst(count)
}

// setTimer sets the timer for the call that has waited longest. The mutex is held.
func (q *queue) setTimer() {
	if len(q.calls) == 0 || q.closed {
		return
	}
	wait := max(q.nextEvent()-time.Since(q.started), 0)
	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.onTimer)
		return
	}
	q.timer.Reset(wait)
}

// nextEvent returns when something happens to the first call unless a worker sends it:
// another worker starts, or the call fails.
func (q *queue) nextEvent() time.Duration {
	since := q.calls[0].since
	timeout := since + q.opts.Timeout
	switch {
	case q.workers < q.opts.PoolSize:
		return min(since+maxPipelineTime, timeout)
	case q.opts.OnEmpty == Create && q.extra < q.opts.PoolSize && q.circuit.Recovered(q.opts.Timeout):
		// The connections in use are from before the outage: their pipelines may never end.
		return min(since+min(maxPipelineTime, q.opts.OnEmptyWait), timeout)
	case q.opts.OnEmpty == Fail, q.opts.OnEmpty == Create && q.extra < q.opts.PoolSize:
		return min(since+q.opts.OnEmptyWait, timeout)
	}
	return timeout
}

// recovered sets the timer for the calls that wait, because a connection may be free to be opened.
func (q *queue) recovered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setTimer()
}

func (q *queue) onTimer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	now := time.Since(q.started)
	q.failFirst(q.countWaiting(now, q.opts.Timeout), ErrTimeout)
	if len(q.calls) == 0 || now < q.nextEvent() {
		q.setTimer()
		return
	}
	switch {
	case q.workers < q.opts.PoolSize:
		q.startWorker(false)
	case q.opts.OnEmpty == Create:
		q.startWorker(true)
	default:
		q.failFirst(q.countWaiting(now, q.opts.OnEmptyWait), ErrPoolEmpty)
		q.setTimer()
	}
}

// countWaiting returns how many calls have waited that long.
func (q *queue) countWaiting(now, wait time.Duration) int {
	for i, c := range q.calls {
		if now < c.since+wait {
			return i
		}
	}
	return len(q.calls)
}

// close fails the calls that wait and returns when the workers have ended, after Timeout
// at most.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.failFirst(len(q.calls), ErrClosed)
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.running.Wait()
	q.circuit.Close()
}

// serve sends a batch and returns its calls to their callers.
func (q *queue) serve(b *batch) {
	b.merge(q.expiries, q.clock.now())
	ctx, cancel := context.WithDeadline(context.Background(), b.deadline)
	defer cancel()
	began := time.Now()
	err := q.exchange(ctx, b)
	switch {
	case err == nil:
		q.circuit.Succeeded()
	case !b.onlyPings(): // callers of Ping try again themselves
		q.circuit.Failed(began, err)
	}
	if err == nil {
		err = errReadOnly
	}
	b.fail(err)
	b.resolve()
	for _, c := range b.calls {
		c.finish()
	}
}
