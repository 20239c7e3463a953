package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// The errors of [Queue.Enqueue] about the queue itself.
var (
	ErrFull   = errors.New("mail: the queue is full")
	ErrClosed = errors.New("mail: the queue has ended")
)

// QueueOptions are the choices of a [Queue]. Nil means the defaults.
type QueueOptions struct {
	// Size is how many mails may be in the queue: those that wait, those that wait for
	// another try, and the one that is being sent. Default: 100.
	Size int
	// Attempts is how often a mail is tried. Default: 5.
	Attempts int
	// FirstWait is the time from the first try to the second. It doubles with each try, up to
	// MaxWait, and is shortened by up to a quarter at random. Defaults: 5 seconds, 2 minutes.
	FirstWait, MaxWait time.Duration
	// Timeout is how long one try may take. Default: 1 minute.
	Timeout time.Duration
	// Drain is how long Run goes on after the end of its context. Default: 5 seconds.
	Drain time.Duration
	// Log is told of mails that were not sent, by address and subject. Default: none.
	Log *slog.Logger
}

// QueueStats are what has become of mails so far. Each that Enqueue took is in exactly one of
// Waiting, Sent, Failed and Lost.
type QueueStats struct {
	Waiting int    // in the queue, the one that is being sent included
	Sent    uint64 // the mailer had no error
	Failed  uint64 // given up
	Lost    uint64 // still there when Run ended
	Retried uint64 // tries beyond the first ones
	Dropped uint64 // never taken: the queue was full, or had ended
}

// Queue sends mails later, one after the other, so that nobody has to wait for a mailer.
// It is a [Mailer] itself. Make it with [NewQueue], and let [Queue.Run] do the sending. It
// is safe for concurrent use.
type Queue struct {
	mailer Mailer
	opts   QueueOptions
	wake   chan struct{} // has one element when there is something new

	mu      sync.Mutex
	state   queueState
	waiting []*queued
	stats   QueueStats
}

type queueState uint8

const (
	idle queueState = iota // Run has not been called
	running
	draining
	ended
)

// queued is a mail in the queue.
type queued struct {
	message Message
	due     time.Time
	tries   int
}

// NewQueue makes an empty queue over a mailer. It starts nothing.
func NewQueue(mailer Mailer, opts *QueueOptions) *Queue {
	q := &Queue{mailer: mailer, wake: make(chan struct{}, 1)}
	if opts != nil {
		q.opts = *opts
	}
	o := &q.opts
	o.Size = positive(o.Size, 100)
	o.Attempts = positive(o.Attempts, 5)
	o.FirstWait = positive(o.FirstWait, 5*time.Second)
	o.MaxWait = positive(o.MaxWait, 2*time.Minute)
	o.Timeout = positive(o.Timeout, time.Minute)
	o.Drain = positive(o.Drain, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return q
}

// positive is n, or the default where that is not positive.
func positive[N int | time.Duration](n, byDefault N) N { return cmp.Or(max(n, 0), byDefault) }

// Enqueue adds a copy of a mail and never blocks. The error is that of [Message.Check],
// [ErrFull], or [ErrClosed] once Run is about to end. Mails may be added before Run begins.
func (q *Queue) Enqueue(m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state >= draining:
		q.stats.Dropped++
		return ErrClosed
	case len(q.waiting) >= q.opts.Size:
		q.stats.Dropped++
		return ErrFull
	}
	q.waiting = append(q.waiting, &queued{message: *m, due: time.Now()})
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// Send is [Queue.Enqueue], so that a queue can stand where a mailer does.
func (q *Queue) Send(_ context.Context, m *Message) error { return q.Enqueue(m) }

// Stats are the counts so far.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting = len(q.waiting)
	return s
}

// Run sends mails until ctx ends. What is in the queue then is tried once more, for at most
// QueueOptions.Drain, and the rest is lost. It returns when all of that is done, with
// nothing left behind, unless the mailer ignores its context. It returns an error at once
// if it has been called before.
func (q *Queue) Run(ctx context.Context) error {
	if !q.enter(idle, running) {
		return errors.New("mail: Run of a queue may be called once only")
	}
	work, release := graceful(ctx, q.opts.Drain)
	defer release()
	for ctx.Err() == nil {
		m, wait := q.next()
		if m != nil {
			q.try(work, m)
			continue
		}
		pause(ctx, wait, q.wake)
	}
	q.drain(work)
	return nil
}

// enter goes from one state to another.
func (q *Queue) enter(from, to queueState) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != from {
		return false
	}
	q.state = to
	return true
}

// graceful is a context that ends some time after ctx. release ends it, and returns when
// nothing of it is left.
func graceful(ctx context.Context, grace time.Duration) (late context.Context, release func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-late.Done():
		case <-ctx.Done():
			pause(late, grace, nil)
			cancel()
		}
	})
	return late, func() {
		cancel()
		wg.Wait()
	}
}

// pause waits for a time, the end of ctx, or the channel.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// next is the mail that is due for the longest time. If none is due yet, it is nil, and wait
// is how long that will be so.
func (q *Queue) next() (first *queued, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.waiting {
		if first == nil || m.due.Before(first.due) {
			first = m
		}
	}
	if first == nil {
		return nil, time.Hour // or until one comes
	}
	if wait = time.Until(first.due); wait > 0 {
		return nil, wait
	}
	return first, 0
}

// try sends a mail, and notes what has become of it.
func (q *Queue) try(ctx context.Context, m *queued) {
	once, cancel := context.WithTimeout(ctx, q.opts.Timeout)
	defer cancel()
	err := q.mailer.Send(once, &m.message)
	level, text := q.settle(ctx, m, err)
	if err == nil {
		return
	}
	q.opts.Log.Log(ctx, level, text, "to", m.message.To, "subject", m.message.Subject, "try", m.tries, "error", err)
}

// settle says where a mail goes after a try, for the log too.
func (q *Queue) settle(ctx context.Context, m *queued, err error) (slog.Level, string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.tries++
	if m.tries > 1 {
		q.stats.Retried++
	}
	switch {
	case err == nil:
		q.leave(m, &q.stats.Sent)
	case ctx.Err() != nil: // it may not have been the mailer's fault
		q.leave(m, &q.stats.Lost)
		return slog.LevelError, "mail lost: it was being sent at the end"
	case m.tries >= q.opts.Attempts || q.state == draining || permanent(err):
		q.leave(m, &q.stats.Failed)
		return slog.LevelError, "mail given up"
	}
	m.due = time.Now().Add(q.wait(m.tries))
	return slog.LevelWarn, "mail not sent yet: it will be tried again"
}

// permanent reports whether an error says that another try would not mend it.
func permanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)
	return ok && p.Permanent()
}

// wait is the time from one try to the next.
func (q *Queue) wait(tries int) time.Duration {
	d := q.opts.FirstWait
	for range tries - 1 {
		if d >= q.opts.MaxWait/2 {
			d = q.opts.MaxWait
			break
		}
		d *= 2
	}
	d = min(d, q.opts.MaxWait)
	return d - rand.N(d/4+1)
}

// leave takes a mail out of the queue and counts it.
func (q *Queue) leave(m *queued, count *uint64) {
	*count++
	q.waiting = slices.DeleteFunc(q.waiting, func(other *queued) bool { return other == m })
}

// drain tries what is left once more, as long as ctx goes on.
func (q *Queue) drain(ctx context.Context) {
	q.enter(running, draining)
	for ctx.Err() == nil {
		m := q.first()
		if m == nil {
			break
		}
		q.try(ctx, m)
	}
	for _, m := range q.end() {
		q.opts.Log.Error("mail lost: there was no time for it at the end", "to", m.message.To, "subject", m.message.Subject)
	}
}

// end empties the queue for good, and returns what is lost with that: a log may ask for Stats.
func (q *Queue) end() (lost []*queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost, q.waiting, q.state = q.waiting, nil, ended
	q.stats.Lost += uint64(len(lost))
	return lost
}

// first is any mail that is left, nil if none is.
func (q *Queue) first() *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}
