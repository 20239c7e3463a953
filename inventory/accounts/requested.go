package accounts

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// The bounds of requested resets. Each waits at most resetSlot, and holds about 1 KiB.
const (
	resetWorkers = 2
	maxRequested = 1000             // that are due, and as many that wait for their slot
	maxAddress   = 1024             // bytes of an email address that may exist
	resetSlot    = 5 * time.Minute  // in which a mailbox that many networks ask for gets one email
	resetTimeout = 30 * time.Second // for the store
	closeTimeout = 5 * time.Second
)

// ForgotPassword sends a reset code to the user with an email address, if there is one. It only counts
// and queues the request: it returns the same after the same work whether the address is known or not,
// and whatever happens later, which is logged. The error is a [*TooManyError] if too many requests came
// from the network of the sender, and [records.Unavailable] if too many wait or the service is closed.
//
// Requests for one address from many networks refuse nobody: after some in an hour, the address gets one
// email every five minutes for all of them.
func (s *Service) ForgotPassword(ctx context.Context, q *Request, email string) error {
	email = strings.ToLower(email)
	mailbox := email[:min(len(email), maxAddress)]
	if err := s.count(ctx, q, s.throttle.networkResets, q.Network); err != nil {
		return err
	}
	if err := s.count(ctx, q, s.throttle.mailboxResets, q.pair(mailbox)); err != nil {
		return err
	}
	if q.Preview != nil {
		return nil
	}
	wait, err := s.slowDown(ctx, mailbox)
	if err != nil || len(email) > maxAddress {
		return err
	}
	return s.requested.add(&resetRequest{
		q: Request{Address: q.Address, Network: q.Network, RequestID: q.RequestID}, email: email, slowed: wait > 0,
	}, wait)
}

// slowDown counts a request for a mailbox from any network, and returns how long it has to wait.
func (s *Service) slowDown(ctx context.Context, mailbox string) (time.Duration, error) {
	status, err := s.throttle.allResets.Allow(ctx, mailbox)
	if err != nil || status.Code != ratelimit.OverLimit {
		return 0, err
	}
	return s.nextSlot(ctx, mailbox)
}

// nextSlot returns how long a mailbox with too many requests has to wait for its next email: until the
// next slot, unless it had none in this one.
func (s *Service) nextSlot(ctx context.Context, mailbox string) (time.Duration, error) {
	now := s.engine.Now()
	begin := now.Truncate(resetSlot)
	status, err := s.throttle.slots.Allow(ctx, begin.UTC().Format(time.RFC3339)+" "+mailbox)
	if err != nil || status.Code != ratelimit.OverLimit {
		return 0, err
	}
	return begin.Add(resetSlot).Sub(now), nil
}

// handleReset sends the code of a requested reset.
func (s *Service) handleReset(ctx context.Context, r *resetRequest) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	var err error
	if r.slowed {
		if _, err = s.nextSlot(ctx, r.email); err == nil { // this one is used
			_ = s.tooMany(ctx, &r.q, s.throttle.allResets, r.email, ratelimit.Status{}) // for its audit log entry
		}
	}
	if err == nil {
		err = s.sendReset(ctx, &r.q, r.email)
	}
	if err != nil {
		s.opts.Log.ErrorContext(ctx, "password reset not sent", "request_id", r.q.RequestID, "error", err)
	}
}

// Wait returns when the resets that were requested so far have been handled, except those that have to
// wait because many were requested for their address. The error is that of the context.
func (s *Service) Wait(ctx context.Context) error { return s.requested.wait(ctx) }

// Close ends the work in the background. Requested resets are handled, for 5 seconds at most; those
// that have to wait are dropped. Later requests for a reset get [records.Unavailable].
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if dropped := s.requested.close(ctx); dropped > 0 {
		s.opts.Log.Warn("requested password resets dropped", "number", dropped)
	}
	return nil
}

// resetRequest is a requested reset.
type resetRequest struct {
	q      Request
	email  string
	slowed bool
	timer  *time.Timer // until it is due
}

// resetQueue handles requested resets in the background. Its workers run only while a reset is due.
type resetQueue struct {
	handle func(ctx context.Context, r *resetRequest)
	ctx    context.Context // of the workers
	cancel context.CancelFunc

	mu      sync.Mutex
	waiting map[string]*resetRequest // those that no worker has begun, by address
	due     []*resetRequest
	running int           // workers
	idle    chan struct{} // closed when the last worker ends
	closed  bool
}

func newResetQueue(handle func(ctx context.Context, r *resetRequest)) *resetQueue {
	b := &resetQueue{handle: handle, waiting: map[string]*resetRequest{}, idle: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// add queues a reset. One that waits for the same address counts for both.
func (b *resetQueue) add(r *resetRequest, wait time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.waiting[r.email]; old != nil && !b.closed {
		if wait == 0 && old.timer != nil && old.timer.Stop() {
			b.begin(old)
		}
		return nil
	}
	number := len(b.due)
	if wait > 0 {
		number = len(b.waiting) - len(b.due) // those cannot keep others from being sent
	}
	if b.closed || number >= maxRequested {
		return &records.Error{Kind: records.Unavailable, Message: "Too many password resets were requested: try again later"}
	}
	b.waiting[r.email] = r
	if wait == 0 {
		b.begin(r)
		return nil
	}
	r.timer = time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.closed {
			b.begin(r)
		}
	})
	return nil
}

// begin makes a reset due. The caller holds mu.
func (b *resetQueue) begin(r *resetRequest) {
	r.timer = nil
	b.due = append(b.due, r)
	if b.running < resetWorkers {
		b.running++
		go b.work()
	}
}

// work handles resets until none is due.
func (b *resetQueue) work() {
	for {
		b.mu.Lock()
		if len(b.due) == 0 {
			if b.running--; b.running == 0 {
				close(b.idle)
				b.idle = make(chan struct{})
			}
			b.mu.Unlock()
			return
		}
		r := b.due[0]
		b.due = b.due[1:]
		delete(b.waiting, r.email)
		b.mu.Unlock()
		b.handle(b.ctx, r)
	}
}

// wait waits until no worker runs.
func (b *resetQueue) wait(ctx context.Context) error {
	b.mu.Lock()
	idle, running := b.idle, b.running
	b.mu.Unlock()
	if running == 0 {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close handles what is due until ctx ends, and returns the number of resets that it drops.
func (b *resetQueue) close(ctx context.Context) (dropped int) {
	b.mu.Lock()
	b.closed = true
	for _, r := range b.waiting {
		if r.timer != nil {
			r.timer.Stop()
			dropped++
		}
	}
	b.mu.Unlock()
	if b.wait(ctx) != nil {
		b.mu.Lock()
		dropped += len(b.due)
		b.due = nil
		b.mu.Unlock()
	}
	b.cancel()
	_ = b.wait(context.Background()) // the workers return now
	return dropped
}
