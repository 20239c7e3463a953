package mail_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

// mailer is one that a test decides about, mail by mail. It notes when each was tried.
type mailer struct {
	send func(ctx context.Context, subject string) error

	mu    sync.Mutex
	begin time.Time
	tries []string
	after []time.Duration // since the beginning
}

func newMailer(send func(ctx context.Context, subject string) error) *mailer {
	return &mailer{send: send, begin: time.Now()}
}

func (m *mailer) Send(ctx context.Context, msg *mail.Message) error {
	m.mu.Lock()
	m.tries, m.after = append(m.tries, msg.Subject), append(m.after, time.Since(m.begin))
	m.mu.Unlock()
	return m.send(ctx, msg.Subject)
}

func subject(s string) *mail.Message {
	return &mail.Message{To: "jane@example.org", Subject: s, Text: "SECRETCODE"}
}

// run runs a queue until the test ends it.
func run(q *mail.Queue) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = q.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// permanentError is an error that must not be retried.
type permanentError struct{}

func (permanentError) Error() string   { return "no such user" }
func (permanentError) Permanent() bool { return true }

// TestQueueRetries checks the waits between attempts, and that other messages are not delayed.
func TestQueueRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Log
		m := newMailer(func(_ context.Context, subject string) error {
			switch subject {
			case "later":
				return errors.New("not now")
			case "never":
				return permanentError{}
			}
			return nil
		})
		q := mail.NewQueue(m, &mail.QueueOptions{
			Attempts: 4, FirstWait: 4 * time.Second, MaxWait: 10 * time.Second, Log: log.Logger(),
		})
		defer run(q)()
		for _, s := range []string{"later", "never", "now"} {
			require.NoError(t, q.Enqueue(subject(s)))
		}
		synctest.Wait()
		require.Equal(t, []string{"later", "never", "now"}, m.tries)
		require.Equal(t, mail.QueueStats{Waiting: 1, Sent: 1, Failed: 1}, q.Stats())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, mail.QueueStats{Sent: 1, Failed: 2, Retried: 3}, q.Stats())
		require.Equal(t, []string{"later", "later", "later"}, m.tries[3:])
		for i, full := range []time.Duration{4 * time.Second, 8 * time.Second, 10 * time.Second} {
			wait := m.after[3+i]
			if i > 0 {
				wait -= m.after[2+i]
			}
			require.LessOrEqual(t, wait, full)
			require.GreaterOrEqual(t, wait, full*3/4)
		}
		require.Equal(t, 2, log.Count("mail given up"))
		require.Equal(t, 3, log.Count("mail not sent yet"))
		require.NotContains(t, log.String(), "SECRETCODE")
	})
}

// TestQueueIsBounded checks that the limit includes messages that wait for a retry.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMailer(func(context.Context, string) error { return errors.New("down") })
		q := mail.NewQueue(m, &mail.QueueOptions{Size: 3})
		for i := range 3 {
			require.NoError(t, q.Send(t.Context(), subject(strconv.Itoa(i))))
		}
		require.ErrorIs(t, q.Enqueue(subject("3")), mail.ErrFull)
		end := run(q)
		synctest.Wait()
		require.Len(t, m.tries, 3)
		require.ErrorIs(t, q.Enqueue(subject("4")), mail.ErrFull)
		require.Error(t, q.Enqueue(&mail.Message{}))
		require.Equal(t, mail.QueueStats{Waiting: 3, Dropped: 2}, q.Stats())
		end()
		require.ErrorIs(t, q.Enqueue(subject("5")), mail.ErrClosed)
		require.Equal(t, mail.QueueStats{Failed: 3, Retried: 3, Dropped: 3}, q.Stats(), "one more attempt each at shutdown")
		require.ErrorContains(t, q.Run(t.Context()), "once")
	})
}

func TestQueueCopiesMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMailer(func(context.Context, string) error { return nil })
		q := mail.NewQueue(m, nil)
		msg := subject("mine")
		require.NoError(t, q.Enqueue(msg))
		msg.Subject = "changed"
		end := run(q)
		end()
		require.Equal(t, []string{"mine"}, m.tries, "queued messages are sent at shutdown")
	})
}

func TestQueueDrainIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := newMailer(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		var log logtest.Log
		var q *mail.Queue
		readStats := func(_ []string, a slog.Attr) slog.Attr {
			q.Stats() // must not deadlock
			return a
		}
		q = mail.NewQueue(stuck, &mail.QueueOptions{
			Drain: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: readStats})),
		})
		for range 4 {
			require.NoError(t, q.Enqueue(subject("x")))
		}
		end := run(q)
		synctest.Wait()
		begin := time.Now()
		end()
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.Equal(t, mail.QueueStats{Lost: 4}, q.Stats())
		require.Equal(t, 4, log.Count("mail lost"))
	})
}

func TestQueueBoundsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMailer(func(ctx context.Context, subject string) error {
			if subject == "stuck" {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		q := mail.NewQueue(m, &mail.QueueOptions{Timeout: time.Second, Attempts: 2})
		defer run(q)()
		require.NoError(t, q.Enqueue(subject("stuck")))
		require.NoError(t, q.Enqueue(subject("free")))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, uint64(1), q.Stats().Sent)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, mail.QueueStats{Sent: 1, Failed: 1, Retried: 1}, q.Stats())
	})
}

func TestQueueCountsConcurrentMessages(t *testing.T) {
	t.Parallel()
	q := mail.NewQueue(newMailer(func(context.Context, string) error { return nil }), &mail.QueueOptions{Size: 10, Drain: time.Minute})
	end := run(q)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := q.Enqueue(subject("x")); err != nil {
					assert.ErrorIs(t, err, mail.ErrFull)
				}
			}
		})
	}
	wg.Wait()
	end()
	s := q.Stats()
	require.Equal(t, uint64(800), s.Sent+s.Dropped)
	require.Zero(t, s.Waiting)
	require.Positive(t, s.Sent)
}

// TestQueueOutlastsOutage lets a server refuse sessions for a while. The server keeps its port.
func TestQueueOutlastsOutage(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s := (&server{refuse: func(step, _ string) error {
		if step == "greeting" && down.Load() {
			return &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCodeNotSet, Message: "not now"}
		}
		return nil
	}}).start(t, plainServer, nil)
	q := mail.NewQueue(s.mailer(t, mail.SMTPOptions{}), &mail.QueueOptions{
		Attempts: 1 << 20, FirstWait: time.Millisecond, MaxWait: 10 * time.Millisecond,
	})
	defer run(q)()
	require.NoError(t, q.Enqueue(message()))
	require.Eventually(t, func() bool { return len(s.received()) == 1 }, 20*time.Second, time.Millisecond)
	down.Store(true)
	require.NoError(t, q.Enqueue(message()))
	require.Eventually(t, func() bool { return q.Stats().Retried > 2 }, 20*time.Second, time.Millisecond)
	down.Store(false)
	require.Eventually(t, func() bool { return q.Stats().Sent == 2 }, 20*time.Second, time.Millisecond)
	require.Len(t, s.received(), 2)
}
