package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

// The errors of [Queue.Enqueue] about the queue itself.
var (
	ErrFull   = errors.New("mail: the queue is full")
	ErrClosed = errors.New("mail: the queue is closed")
)

// QueueOptions configures a [Queue]. Nil means the defaults.
type QueueOptions struct {
	// Size is the maximum number of messages in the queue, including those that wait for a
	// retry and the one being sent. Default: 100.
	Size int
	// Attempts is the maximum number of attempts to send a message. Default: 5.
	Attempts int
	// FirstWait is the time before the second attempt. It doubles with each further one, up
	// to MaxWait, and is shortened by up to a quarter at random. Defaults: 5 seconds, 2 minutes.
	FirstWait, MaxWait time.Duration
	// Timeout bounds one attempt. Default: 1 minute.
	Timeout time.Duration
	// Drain bounds how long Run continues after its context ends. Default: 5 seconds.
	Drain time.Duration
	// Log receives failures, with recipient and subject. Default: slog.Default().
	Log *slog.Logger
}

// QueueStats counts messages. Each accepted message is in one of Waiting, Sent, Failed, Lost.
type QueueStats struct {
	Waiting int    // in the queue, including the one being sent
	Sent    uint64 // sent without an error
	Failed  uint64 // given up
	Lost    uint64 // unsent when Run ended
	Retried uint64 // attempts beyond the first
	Dropped uint64 // rejected: the queue was full or closed
}

// Queue sends messages one after the other in the background. It is a [Mailer] itself. Create
// it with [NewQueue] and call [Queue.Run] to send. It is safe for concurrent use.
type Queue struct {
	mailer  Mailer
	opts    QueueOptions
	backoff backoff.Backoff
	added   chan struct{} // holds an element after a message was added

	mu              sync.Mutex
	started, closed bool
	waiting         []*queued
	stats           QueueStats
}

type queued struct {
	message Message
	due     time.Time
	tries   int
}

// NewQueue returns an empty queue over a mailer.
func NewQueue(mailer Mailer, opts *QueueOptions) *Queue {
	q := &Queue{mailer: mailer, opts: *cmp.Or(opts, &QueueOptions{}), added: make(chan struct{}, 1)}
	o := &q.opts
	o.Size, o.Attempts = cmp.Or(max(o.Size, 0), 100), cmp.Or(max(o.Attempts, 0), 5)
	o.Timeout, o.Drain = cmp.Or(max(o.Timeout, 0), time.Minute), cmp.Or(max(o.Drain, 0), 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	q.backoff = backoff.Backoff{
		Initial: cmp.Or(max(o.FirstWait, 0), 5*time.Second), Max: cmp.Or(max(o.MaxWait, 0), 2*time.Minute), Jitter: 0.25,
	}
	return q
}

// Enqueue adds a copy of a message and never blocks. The error is that of [Message.Check],
// [ErrFull], or [ErrClosed] after the context of Run has ended. Messages may be added before Run.
func (q *Queue) Enqueue(m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) >= q.opts.Size {
		q.stats.Dropped++
		if q.closed {
			return ErrClosed
		}
		return ErrFull
	}
	q.waiting = append(q.waiting, &queued{message: *m, due: time.Now()})
	select {
	case q.added <- struct{}{}:
	default:
	}
	return nil
}

// Send calls [Queue.Enqueue].
func (q *Queue) Send(_ context.Context, m *Message) error { return q.Enqueue(m) }

// Stats returns the counts so far.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting = len(q.waiting)
	return s
}

// Run sends messages until ctx ends. Then it tries each remaining message once more, for at
// most QueueOptions.Drain, and drops the rest. It may be called once.
func (q *Queue) Run(ctx context.Context) error {
	q.mu.Lock()
	started := q.started
	q.started = true
	q.mu.Unlock()
	if started {
		return errors.New("mail: Queue.Run may be called only once")
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(q.opts.Drain, cancel) })()
	for {
		m, wait := q.next(ctx.Err() != nil)
		switch {
		case m != nil:
			q.send(sending, m)
		case ctx.Err() != nil:
			return nil
		default:
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			case <-q.added:
			}
			timer.Stop()
		}
	}
}

// next returns the message with the earliest due time, or how long to wait for it. When the
// queue is closing, no more messages are accepted and all are due.
func (q *Queue) next(closing bool) (*queued, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = closing
	if len(q.waiting) == 0 {
		return nil, time.Hour // or until one is added
	}
	first := slices.MinFunc(q.waiting, func(a, b *queued) int { return a.due.Compare(b.due) })
	if wait := time.Until(first.due); wait > 0 && !closing {
		return nil, wait
	}
	return first, 0
}

// send makes one attempt, then removes the message or schedules the next attempt.
func (q *Queue) send(ctx context.Context, m *queued) {
	err := ctx.Err()
	if err == nil {
		attempt, cancel := context.WithTimeout(ctx, q.opts.Timeout)
		err = q.mailer.Send(attempt, &m.message)
		cancel()
		q.mu.Lock()
		if m.tries++; m.tries > 1 {
			q.stats.Retried++
		}
		q.mu.Unlock()
	}
	if level, message := q.record(ctx, m, err); err != nil {
		q.opts.Log.Log(ctx, level, message, "to", m.message.To, "subject", m.message.Subject, "attempt", m.tries, "error", err)
	}
}

// record counts the outcome of an attempt; level and message are for the log of a failure.
func (q *Queue) record(ctx context.Context, m *queued, err error) (level slog.Level, message string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	level, message = slog.LevelError, "mail given up"
	count := &q.stats.Failed
	permanent, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)
	switch {
	case err == nil:
		count = &q.stats.Sent
	case ctx.Err() != nil:
		count, message = &q.stats.Lost, "mail lost: not sent before shutdown"
	case m.tries < q.opts.Attempts && !q.closed && !(ok && permanent.Permanent()):
		m.due = time.Now().Add(q.backoff.Wait(m.tries - 1))
		return slog.LevelWarn, "mail not sent yet: will retry"
	}
	*count++
	q.waiting = slices.DeleteFunc(q.waiting, func(other *queued) bool { return other == m })
	return level, message
}
