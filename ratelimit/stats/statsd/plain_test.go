package statsd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func newPlain(t testing.TB, r *stats.Registry, addr string, opts *statsd.Options) *statsd.Sink {
	t.Helper()
	s, err := statsd.New(r, addr, opts)
	require.NoError(t, err)
	return s
}

func ExampleNew() {
	daemon, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	registry := stats.New(nil)
	sink, err := statsd.New(registry, daemon.Addr().String(), &statsd.Options{
		Tags: []stats.Tag{{Name: "zone", Value: "a"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- sink.Run(ctx) }()

	registry.Counter("ratelimit.service.config_load_success").Add(1)
	stop() // the last flush follows
	conn, err := daemon.Accept()
	if err != nil {
		log.Fatal(err)
	}
	sent, err := io.ReadAll(conn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(sent))
	fmt.Println(<-done)
	// Output:
	// ratelimit.service.config_load_success.__zone=a:1|c
	// <nil>
}

// sampleRegistry has statistics of each kind.
func sampleRegistry() *stats.Registry {
	r := stats.New(nil)
	r.Counter("ratelimit.service.config_load_success").Add(1)
	r.Counter("ratelimit.service.config_load_error")
	r.Counter(stats.Tagged("ratelimit.memcache.multiget", stats.Tag{Name: "code", Value: "success"})).Add(2)
	r.Counter("evil\nname:1|c|#x:y").Add(3)
	r.Counter("").Add(1)
	r.Gauge("ratelimit.redis_pool.cx_active").Set(10)
	r.Gauge("zero")
	return r
}

func TestPlainLines(t *testing.T) {
	for _, tt := range []struct {
		name string
		tags []stats.Tag
		want string
	}{
		{name: "without tags", want: `evil_name_1_c_#x_y:3|c
ratelimit.memcache.multiget.__code=success:2|c
ratelimit.redis_pool.cx_active:10|g
ratelimit.service.config_load_success:1|c
ratelimit_server.ShouldRateLimit.response_time:12|ms
ratelimit_server.ShouldRateLimit.response_time:2|ms
zero:0|g`},
		{name: "tags", tags: []stats.Tag{{Name: "zone", Value: "eu.west:1"}, {Name: "code", Value: "mine"}, {Name: "a", Value: "b"}}, want: `evil_name_1_c_#x_y.__a=b.__code=mine.__zone=eu_west_1:3|c
ratelimit.memcache.multiget.__a=b.__code=success.__zone=eu_west_1:2|c
ratelimit.redis_pool.cx_active.__a=b.__code=mine.__zone=eu_west_1:10|g
ratelimit.service.config_load_success.__a=b.__code=mine.__zone=eu_west_1:1|c
ratelimit_server.ShouldRateLimit.response_time.__a=b.__code=mine.__zone=eu_west_1:12|ms
ratelimit_server.ShouldRateLimit.response_time.__a=b.__code=mine.__zone=eu_west_1:2|ms
zero.__a=b.__code=mine.__zone=eu_west_1:0|g`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCollector(t, "127.0.0.1:0")
			r := sampleRegistry()
			s := newPlain(t, r, c.addr, &statsd.Options{Tags: tt.tags})
			r.Timer("ratelimit_server.ShouldRateLimit.response_time").Record(12 * time.Millisecond)
			r.Timer("ratelimit_server.ShouldRateLimit.response_time").Record(2 * time.Millisecond)
			flushOnce(t, s)
			eventually(t, func() bool { return strings.Count(c.String(), "\n") >= 7 }, "the lines have not arrived")
			c.stop()
			require.Equal(t, strings.Split(tt.want, "\n"), sorted(c.String()))
		})
	}
}

// A value from a request that resembles a tag is part of the name.
func TestNamesThatLookTagged(t *testing.T) {
	for _, name := range []string{
		"ratelimit.service.rate_limit.d.k_a.__b=c.total_hits", "a.__", "a.__b", ".__a=b", "a.__=b", "a.__b=c.__d",
	} {
		c := newCollector(t, "127.0.0.1:0")
		r := stats.New(nil)
		r.Counter(name).Add(1)
		flushOnce(t, newPlain(t, r, c.addr, &statsd.Options{Tags: []stats.Tag{{Name: "zone", Value: "z"}}}))
		eventually(t, func() bool { return c.String() == name+".__zone=z:1|c\n" }, "the line of %s", name)
		c.stop()
	}
}

func TestSampledTimerLines(t *testing.T) {
	c := newCollector(t, "127.0.0.1:0")
	r := stats.New(nil)
	s := newPlain(t, r, c.addr, &statsd.Options{MaxTimerLines: 2})
	for i := range 8 {
		r.Timer("t").Record(time.Duration(i) * time.Millisecond)
	}
	flushOnce(t, s)
	eventually(t, func() bool { return c.String() == "t:2|ms|@0.25\nt:6|ms|@0.25\n" }, "the sample has not arrived")
}

func TestLongNamesAreLeftOutAndLogged(t *testing.T) {
	c := newCollector(t, "127.0.0.1:0")
	r := stats.New(nil)
	for i := range 3 {
		r.Counter(strings.Repeat("x", 9000+i)).Add(1)
		r.Gauge(strings.Repeat("x", 9000+i)).Set(1)
		r.Timer(strings.Repeat("x", 9000+i)).Record(1)
	}
	r.Counter("short").Add(1)
	var log logtest.Log
	flushOnce(t, newPlain(t, r, c.addr, &statsd.Options{Log: log.Logger()}))
	eventually(t, func() bool { return c.String() == "short:1|c\n" }, "the short name has not arrived")
	require.Equal(t, 1, log.Count("\n"), log.String())
	require.Contains(t, log.String(), "too long")
}

// A connection that ends between two flushes is replaced before anything is written to
// it, so nothing is lost.
func TestDaemonRestarts(t *testing.T) {
	first := newCollector(t, loopback())
	r := stats.New(nil)
	var log logtest.Log
	run(t, newPlain(t, r, first.addr, &statsd.Options{FlushInterval: 5 * time.Millisecond, Log: log.Logger()}))
	r.Counter("c").Add(1)
	eventually(t, func() bool { return first.String() == "c:1|c\n" }, "the first flush has not arrived")
	first.stop()
	eventually(t, func() bool { return strings.Contains(log.String(), "cannot be sent") }, "the failure was not noticed")
	r.Counter("c").Add(2)
	r.Counter("d").Add(4)
	second := newCollector(t, first.addr)
	eventually(t, func() bool { return strings.Count(second.String(), "\n") == 2 }, "the flush after the failure has not arrived")
	require.Equal(t, []string{"c:2|c", "d:4|c"}, sorted(second.String()))
	eventually(t, func() bool { return strings.Contains(log.String(), "sent again") }, "the end of the failure was not logged")
	require.Equal(t, 2, log.Count("\n"), log.String())
}

func TestAddressThatDoesNotResolve(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		var log logtest.Log
		r := stats.New(nil)
		stop := run(t, newPlain(t, r, "no-such-host.invalid:8125", &statsd.Options{Network: network, FlushInterval: time.Millisecond, Log: log.Logger()}))
		eventually(t, func() bool { return strings.Contains(log.String(), "no-such-host.invalid") }, "the host is not in the log")
		stop()
	}
}

// stalledDaemon accepts connections and reads from none before read is called. It
// records whole lines: an unterminated one counts as not sent.
type stalledDaemon struct {
	net.Listener
	logtest.Log
	readers sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	reads bool
}

func newStalledDaemon(t *testing.T) *stalledDaemon {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &stalledDaemon{Listener: l}
	s.readers.Go(s.accept)
	t.Cleanup(s.end)
	return s
}

func (s *stalledDaemon) accept() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		if s.reads {
			s.readers.Go(func() { s.record(c) })
		}
		s.mu.Unlock()
	}
}

func (s *stalledDaemon) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// read starts reading from all connections, present and future.
func (s *stalledDaemon) read() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads {
		return
	}
	s.reads = true
	for _, c := range s.conns {
		s.readers.Go(func() { s.record(c) })
	}
}

// record records the lines of a connection until the sink closes it.
func (s *stalledDaemon) record(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewReader(c); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		io.WriteString(&s.Log, line) // a buffer never fails
	}
}

// end reads the rest, after the sink has ended.
func (s *stalledDaemon) end() {
	s.Close()
	s.read()
	s.readers.Wait()
}

// sums adds up counters by name.
func sums(t *testing.T, text string) map[string]uint64 {
	t.Helper()
	sums := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if digits, ok := strings.CutSuffix(value, "|c\n"); ok {
			n, err := strconv.ParseUint(digits, 10, 64)
			assert.NoError(t, err, "%s", line)
			sums[name] += n
		}
	}
	return sums
}

// With a daemon that accepts and never reads, flushes end, memory does not grow, counting
// does not block, and nothing is sent twice.
func TestDaemonThatNeverReads(t *testing.T) {
	const names = 2000
	hold := newStalledDaemon(t)
	addr := hold.Addr().String()
	r := stats.New(nil)
	gauges := make([]string, names) // a few flushes exceed the socket buffers
	for i := range gauges {
		gauges[i] = strings.Repeat("x", 1000) + strconv.Itoa(i)
	}
	r.Source(func(to stats.Reader) {
		for _, name := range gauges {
			to.Gauge(name, 1)
		}
	})
	var log logtest.Log
	s := newPlain(t, r, addr, &statsd.Options{FlushInterval: time.Millisecond, Log: log.Logger()}).SetWriteTimeout(50 * time.Millisecond)
	stop := run(t, s)
	want := map[string]uint64{}
	count := func() {
		for i := range names {
			r.Counter("c" + strconv.Itoa(i)).Add(uint64(i + 1))
			want["c"+strconv.Itoa(i)] += uint64(i + 1)
			r.Timer("t").Record(time.Millisecond)
		}
	}
	count()
	eventually(t, func() bool { return strings.Contains(log.String(), "cannot be sent") }, "no flush has failed")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	accepted := hold.accepted()
	for range 50 {
		count() // must not block
	}
	eventually(t, func() bool { return hold.accepted() >= accepted+3 }, "the sink does not try again")
	eventually(t, func() bool { // until the memory of the flushes is collected
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc)-int64(before.HeapAlloc) < 8<<20
	}, "the heap grows while nothing can be sent")
	hold.read()
	stop()
	hold.end()

	// The sink has ended, and its last flush may have failed.
	for name, n := range sums(t, hold.String()) {
		require.LessOrEqual(t, n, want[name], "%s was sent twice", name)
	}
}

// What a stalled connection did not accept is sent by a later one, once.
func TestNothingIsLostToDaemonThatReadsLate(t *testing.T) {
	hold := newStalledDaemon(t)
	addr := hold.Addr().String()
	r := stats.New(nil)
	padding := strings.Repeat("x", 1000)
	var log logtest.Log
	run(t, newPlain(t, r, addr, &statsd.Options{FlushInterval: time.Millisecond, Log: log.Logger()}).SetWriteTimeout(50*time.Millisecond))
	want := map[string]uint64{}
	count := func() {
		for i := range 2000 {
			name := padding + strconv.Itoa(i)
			r.Counter(name).Add(uint64(i + 1))
			want[name] += uint64(i + 1)
		}
	}
	eventually(t, func() bool {
		count()
		return strings.Contains(log.String(), "cannot be sent")
	}, "no flush has failed")
	hold.read()
	eventually(t, func() bool {
		got := sums(t, hold.String())
		for name, n := range want {
			if got[name] != n {
				return false
			}
		}
		return true
	}, "the totals are not those that were counted")
}

func TestRunTwice(t *testing.T) {
	c := newCollector(t, "127.0.0.1:0")
	s := newPlain(t, stats.New(nil), c.addr, nil)
	flushOnce(t, s)
	err := s.Run(context.Background())
	require.ErrorContains(t, err, "Run has been called before")
	require.False(t, errors.Is(err, context.Canceled))
}

func TestUDPPackets(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	r := stats.New(nil)
	want := []string{}
	for i := range 500 {
		name := fmt.Sprintf("counter.%04d", i)
		r.Counter(name).Add(uint64(i + 1))
		want = append(want, fmt.Sprintf("%s:%d|c", name, i+1))
	}
	long := strings.Repeat("x", 2000)
	r.Counter(long).Add(1)
	want = append(want, long+":1|c")
	flushOnce(t, newPlain(t, r, l.LocalAddr().String(), &statsd.Options{Network: "udp"}))
	var got []string
	buf := make([]byte, 1<<16)
	for len(got) < len(want) {
		require.NoError(t, l.SetReadDeadline(time.Now().Add(timeout)))
		n, _, err := l.ReadFrom(buf)
		require.NoError(t, err)
		text := strings.Trim(string(buf[:n]), "\n")
		if text == "" {
			continue
		}
		require.True(t, n <= 1432 || text == long+":1|c", "a datagram of %d bytes: %q", n, text)
		got = append(got, strings.Split(text, "\n")...)
	}
	require.ElementsMatch(t, want, got)
}

// A refusal is noticed even if the time to wait for it has passed as well, as after a
// pause of the process.
func TestUDPRefusalAtTheEndOfTheWait(t *testing.T) {
	for range 1000 {
		require.ErrorContains(t, statsd.AwaitRefusal(0), "refused")
	}
}

// A port that is refused from the start loses nothing and is logged once.
func TestUDPPortRefused(t *testing.T) {
	l, err := net.ListenPacket("udp", loopback())
	require.NoError(t, err)
	addr := l.LocalAddr().String()
	require.NoError(t, l.Close())
	r := stats.New(nil)
	var log logtest.Log
	run(t, newPlain(t, r, addr, &statsd.Options{Network: "udp", FlushInterval: time.Millisecond, Log: log.Logger()}))
	r.Counter("c").Add(1)
	eventually(t, func() bool { return strings.Contains(log.String(), "refused") }, "the refusal was not noticed")
	r.Counter("c").Add(1)
	l, err = net.ListenPacket("udp", addr)
	require.NoError(t, err)
	defer l.Close()
	buf := make([]byte, 1<<16)
	for {
		require.NoError(t, l.SetReadDeadline(time.Now().Add(timeout)))
		n, _, err := l.ReadFrom(buf)
		require.NoError(t, err)
		if text := strings.Trim(string(buf[:n]), "\n"); text != "" {
			require.Equal(t, "c:2|c", text)
			break
		}
	}
	eventually(t, func() bool { return strings.Contains(log.String(), "sent again") }, "the end of the failure was not logged")
	require.Equal(t, 2, log.Count("\n"), log.String())
}
