package statsd_test

import (
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

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback returns an address with any free port, on a loopback host that no other test
// uses: a port that is closed is still free when it is opened again.
func loopback() string {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "127.0.0.1:0" // not every system has other loopback hosts
	}
	l.Close()
	return host + ":0"
}

// timeout limits the wait for another process on a busy machine.
const timeout = time.Minute

func eventually(t *testing.T, ok func() bool, what string, args ...any) {
	t.Helper()
	require.Eventuallyf(t, ok, timeout, 5*time.Millisecond, what, args...)
}

// run runs a sink. The returned function stops it and waits for Run to return.
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

// flushOnce runs a sink for its last flush only.
func flushOnce(t *testing.T, s *statsd.Sink) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, s.Run(ctx))
}

// discard drops everything.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// sorted returns the sorted lines of text.
func sorted(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// collector is a daemon that only records, for what the real one does not show.
type collector struct {
	logtest.Log
	addr string
	stop func() // ends the daemon and its connections

	mu    sync.Mutex
	conns []net.Conn
}

func newCollector(t *testing.T, addr string) *collector {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	c := &collector{addr: l.Addr().String()}
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
			all.Go(func() { c.record(conn) })
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

// record records everything from a connection until it ends.
func (c *collector) record(conn net.Conn) {
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
