package statsd_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback is an address with any free port, on a host of this machine that no other
// test uses: a port that is let go of here is still free when it is wanted again.
func loopback() string {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "127.0.0.1:0" // not every system has more of them
	}
	l.Close()
	return host + ":0"
}

// patience is how long to wait for what comes from another process on a busy machine.
const patience = time.Minute

func eventually(t *testing.T, ok func() bool, what string, args ...any) {
	t.Helper()
	require.Eventuallyf(t, ok, patience, 5*time.Millisecond, what, args...)
}

// run runs a sink; what it returns stops it, and returns when Run has.
func run(t *testing.T, s *statsd.Sink) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// flushOnce has a sink do its last flush and no other.
func flushOnce(t *testing.T, s *statsd.Sink) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, s.Run(ctx))
}

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// quiet is a log that nobody reads.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// sorted are the lines of a text in order.
func sorted(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// collector is a daemon that only writes down, for what the real one does not show.
type collector struct {
	*journal
	addr string
	stop func() // ends it and its connections

	mu    sync.Mutex
	conns []net.Conn
}

func newCollector(t *testing.T, addr string) *collector {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	c := &collector{journal: &journal{}, addr: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			all.Go(func() { c.keep(conn) })
		}
	})
	c.stop = sync.OnceFunc(func() {
		l.Close()
		c.hangUp()
		all.Wait()
	})
	t.Cleanup(c.stop)
	return c
}

func (c *collector) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

// keep writes down what a connection brings until it ends.
func (c *collector) keep(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		c.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
