package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Charge implements ratelimit.ChargeStore by compare-and-swap: a state is read, and written unless
// another instance has written it meanwhile. That is two round trips for each key, and one if
// nothing is taken. Takes on one key wait for the exchange under way and share the next one, so
// only instances compete for a key, not calls. After eight attempts Take fails with ErrContended.
//
// Other errors are those of Add. Takes of a call that fails may have happened.
func (s *Store) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	if len(charges) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := checkKeys(len(charges), func(i int) []byte { return charges[i].Key }); err != nil {
		return err
	}
	for {
		r := s.ring.Load()
		err := s.chargeFrom(ctx, r, charges)
		if errors.Is(err, errNotBegun) && s.ring.Load() != r {
			continue // a node was retired after the ring was loaded
		}
		return err
	}
}

// errNotBegun marks ErrClosed of a call of which no charge was made.
var errNotBegun = fmt.Errorf("%w", ErrClosed)

// chargeFrom is Take with a ring.
func (s *Store) chargeFrom(ctx context.Context, r *ring, charges []ratelimit.Charge) error {
	c := &chargeCall{done: make(chan struct{})}
	var queues []*queue
	jobs := make(map[string]*job, len(charges))
	for i := range charges {
		j := jobs[string(charges[i].Key)]
		if j == nil {
			j = &job{call: c, key: string(charges[i].Key), queue: r.queue(charges[i].Key)}
			jobs[j.key] = j
			queues = append(queues, j.queue)
		}
		j.charges, j.at = append(j.charges, charges[i]), append(j.at, i)
		j.charges[len(j.charges)-1].Key = nil // the caller's
	}
	for i, q := range queues { // a queue is entered once for each key
		if err := q.enter(); err != nil {
			for _, entered := range queues[:i] {
				entered.leave()
			}
			return err
		}
	}
	c.left.Store(int32(len(jobs)))
	for _, j := range jobs {
		j.queue.charge(j)
	}
	err := c.wait(ctx, s.opts.Timeout)
	for _, q := range queues {
		q.leave()
	}
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.err != nil {
			return j.err
		}
		for i, at := range j.at {
			charges[at].Allowed, charges[at].State = j.charges[i].Allowed, j.charges[i].State
		}
	}
	return nil
}

// chargeCall is one Take.
type chargeCall struct {
	left      atomic.Int32 // jobs
	done      chan struct{}
	abandoned atomic.Bool // the caller waits no longer
}

func (c *chargeCall) wait(ctx context.Context, timeout time.Duration) error {
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		c.abandoned.Store(true)
		return context.Cause(ctx)
	case <-late.C:
		c.abandoned.Store(true)
		return fmt.Errorf("%w of %v", ErrTimeout, timeout)
	}
}

// job is the charges of a call on one key.
type job struct {
	call    *chargeCall
	key     string
	queue   *queue
	charges []ratelimit.Charge // copies, because the call may be abandoned
	at      []int              // where they are in the call
	err     error
}

func (j *job) finish(err error) {
	j.err = err
	if j.call.left.Add(-1) == 0 {
		close(j.call.done)
	}
}

// state is a key with jobs. The lock of its queue protects it.
type state struct {
	key  string
	jobs []*job // wait for the next exchange
}

// enter begins a call that takes.
func (q *queue) enter() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.phase >= closed:
		return errNotBegun
	case q.waitingJobs >= q.node.opts.MaxWaiting:
		return fmt.Errorf("%w: %d for node %s", ErrBusy, q.waitingJobs, q.node.addr)
	case !q.node.circuit.Allow():
		return q.suspended
	}
	q.active++
	return nil
}

// leave ends a call that takes.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	q.signal()
}

// take queues a job of a call that has entered.
func (q *queue) charge(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase == aborted {
		j.finish(ErrClosed)
		return
	}
	s := q.states[j.key]
	if s == nil { // no exchange waits or is under way
		s = &state{key: j.key}
		q.states[j.key] = s
		q.exchanges = append(q.exchanges, s)
	}
	s.jobs = append(s.jobs, j)
	q.waitingJobs++
	if q.exchangers < q.node.opts.MaxWorkers && len(q.exchanges) > 0 {
		q.exchangers++
		go q.exchange()
	}
}

// exchange is a goroutine that makes exchanges until no key waits.
func (q *queue) exchange() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.exchanges) > 0 {
		s := q.exchanges[0]
		q.exchanges[0] = nil
		q.exchanges = q.exchanges[1:]
		jobs := s.jobs
		s.jobs = nil
		q.waitingJobs -= len(jobs)
		q.mu.Unlock()
		err := q.node.charge(s.key, jobs)
		for _, j := range jobs {
			j.finish(err)
		}
		q.mu.Lock()
		if len(s.jobs) > 0 {
			q.exchanges = append(q.exchanges, s)
		} else {
			delete(q.states, s.key)
		}
	}
	q.exchangers--
	q.signal()
}

// abortCharges fails the calls that wait. The caller holds the lock.
func (q *queue) abortCharges() {
	for _, s := range q.exchanges {
		for _, j := range s.jobs {
			j.finish(ErrClosed)
		}
		q.waitingJobs -= len(s.jobs)
		delete(q.states, s.key)
	}
	q.exchanges = nil
}

// maxSwaps is how often a state is read until it could be written.
const maxSwaps = 8

// swapWait keeps instances that compete for a key apart.
var swapWait = backoff.Backoff{Initial: 500 * time.Microsecond, Max: 10 * time.Millisecond, Jitter: 1}

// take makes the charges of jobs on one key.
func (n *node) charge(key string, jobs []*job) error {
	for attempt := range maxSwaps {
		if attempt > 1 && backoff.Sleep(n.aborted, swapWait.Wait(attempt)) != nil {
			return ErrClosed
		}
		found, err := n.get([]string{key})
		if err != nil {
			return err
		}
		var before ratelimit.State
		item := found[key]
		if item != nil {
			if before, err = parseState(item.Value); err != nil {
				return fmt.Errorf("%w (node %s)", err, n.addr)
			}
		}
		after, ttl := applyJobs(before, jobs)
		if ttl == 0 {
			return nil
		}
		err = n.swap(key, item, after, ttl)
		if !errors.Is(err, memcache.ErrCASConflict) && !errors.Is(err, memcache.ErrNotStored) && !errors.Is(err, memcache.ErrCacheMiss) {
			return err
		}
	}
	return fmt.Errorf("%w (%d attempts, node %s)", ErrContended, maxSwaps, n.addr)
}

// swap writes a state where item was, which is nil if there was none.
func (n *node) swap(key string, item *memcache.Item, s ratelimit.State, ttl time.Duration) error {
	codes := &n.totals.swap
	store := n.client.CompareAndSwap
	if item == nil {
		item, store, codes = &memcache.Item{Key: key}, n.client.Add, &n.totals.add
	}
	item.Value, item.Expiration = appendState(nil, s), expiry(ttl, n.opts.Now())
	err := n.do(modifying, func() error { return store(item) })
	codes.count(err)
	return err
}

// applyJobs makes the charges. It returns how long the state is to be kept, in whole seconds, and 0 if it
// need not be written.
func applyJobs(s ratelimit.State, jobs []*job) (after ratelimit.State, ttl time.Duration) {
	for _, j := range jobs {
		if j.call.abandoned.Load() {
			continue // the caller has an error already
		}
		for i := range j.charges {
			t := &j.charges[i]
			none := s == ratelimit.State{}
			t.Apply(&s)
			if t.Allowed && t.N > 0 && (!t.Refund || !none) {
				kept := time.Duration(t.Expires()-t.Now) * time.Microsecond
				ttl = max(ttl, (kept + time.Second - 1).Truncate(time.Second), time.Second)
			}
		}
	}
	return s, ttl
}

// appendState appends the numbers of a state in decimal, with blanks between them.
func appendState(b []byte, s ratelimit.State) []byte {
	for i, number := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, number, 10)
	}
	return b
}

func parseState(text []byte) (s ratelimit.State, err error) {
	words := strings.Fields(string(text))
	if len(words) != len(s) {
		return s, fmt.Errorf("%w: it has %d parts", ErrNotAState, len(words))
	}
	for i, word := range words {
		if s[i], err = strconv.ParseInt(word, 10, 54); err != nil {
			return s, fmt.Errorf("%w: its part %d is no number", ErrNotAState, i)
		}
	}
	return s, nil
}
