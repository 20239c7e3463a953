package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// commandCalls returns how often the server has executed the command.
func commandCalls(t testing.TB, client *redis.Client, command string) int {
	t.Helper()
	info := client.InfoMap(t.Context(), "commandstats").Item("Commandstats", "cmdstat_"+command)
	if info == "" {
		return 0
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(info, "calls="), ",")
	n := 0
	for _, digit := range text {
		n = 10*n + int(digit-'0')
	}
	return n
}

// requireExpiries fails if a counter has no expiry.
func requireExpiries(t testing.TB, client *redis.Client) {
	t.Helper()
	const none = time.Duration(-1) // an expired key has another value
	keys, err := client.Keys(context.Background(), "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		left, err := client.PTTL(context.Background(), key).Result()
		require.NoError(t, err)
		require.NotEqual(t, none, left, "the counter %q has no expiry", key)
	}
}

func TestExpiryIsSetOnce(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	waitIdle(t, store) // expiries from before a connection was opened are set again
	begin, h := time.Now(), hit(uniqueName(), 1)
	h.Window, h.Jitter = ratelimit.Hour.Window(begin.Unix()), 100
	for want := range uint64(50) {
		require.Equal(t, want+1, add(t, store, h))
	}
	require.Equal(t, 1, commandCalls(t, client, "pexpire"), "the expiry is set with the first hit, and not again")
	require.Equal(t, 50, commandCalls(t, client, "incrby"))

	end := time.Unix(h.End(), 0).Add(100 * time.Second)
	left := client.PTTL(t.Context(), string(h.Key)).Val()
	require.WithinDuration(t, end, time.Now().Add(left), 5*time.Second, "a counter lives as long as its window and the jitter")
	require.LessOrEqual(t, left, end.Sub(begin), "and no longer")
}

func TestMinimumTTL(t *testing.T) {
	server := redistest.Start(t, nil)
	now := time.Unix(1_700_000_000, 999_000_000)
	requests := new(recorder)
	store := open(t, server.Addr, &redisstore.Options{Now: func() time.Time { return now }, Dial: requests.dial})
	h := ratelimit.Hit{Key: []byte("late_1700000000"), N: 1, Unit: ratelimit.Second, Window: 1_700_000_000}
	// The expiry that is requested; how much of it remains depends on the speed of the test.
	const twoSeconds = "pexpire\r\n$15\r\nlate_1700000000\r\n$4\r\n2000\r\n"
	require.EqualValues(t, 1, add(t, store, h))
	require.Equal(t, 1, strings.Count(requests.text(), twoSeconds))
	require.NoError(t, server.Client().Set(t.Context(), string(h.Key), 1, 0).Err())
	now = now.Add(5 * time.Second) // a hit of a window that ended long ago
	require.EqualValues(t, 2, add(t, store, h))
	require.Equal(t, 2, strings.Count(requests.text(), twoSeconds))
}

// recorder records everything that a store writes on its connections.
type recorder struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (r *recorder) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return recordingConn{conn, r}, err
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written.String()
}

type recordingConn struct {
	net.Conn
	record *recorder
}

func (c recordingConn) Write(p []byte) (int, error) {
	c.record.mu.Lock()
	_, _ = c.record.written.Write(p)
	c.record.mu.Unlock()
	return c.Conn.Write(p)
}

// TestConnectionCutAtEveryByte cuts the connection after each number of bytes of the
// pipeline that creates a counter, with -short after each 47th.
func TestConnectionCutAtEveryByte(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	client := server.Client()
	for _, add := range []func(*redisstore.Store, context.Context, []ratelimit.Hit) error{
		(*redisstore.Store).Add, (*redisstore.Store).AddUnlessOver,
		func(s *redisstore.Store, ctx context.Context, hits []ratelimit.Hit) error {
			return charger{s}.Add(ctx, hits)
		},
	} {
		step := 1
		if testing.Short() {
			step = 47
		}
		for most, whole := 0, false; !whole; most += step {
			require.NoError(t, client.FlushAll(t.Context()).Err())
			s := &cuttingDialer{most: most}
			store, err := redisstore.New(server.Addr, &redisstore.Options{Dial: s.dial})
			require.NoError(t, err)
			hits := []ratelimit.Hit{hit("cut", 1), hit("off", 1)}
			err = add(store, t.Context(), hits)
			whole = err == nil
			require.NoError(t, store.Close())
			require.Eventually(t, func() bool { // the server has read to the end
				return strings.Count(client.ClientList(t.Context()).Val(), "addr=")/2 == 1
			}, testTimeout, time.Millisecond)
			requireExpiries(t, client)
		}
	}
}

// TestRepliesLostAfterStaleConnection: of the commands that are sent again because the first
// connection was stale, each is executed once, although its reply is lost.
func TestRepliesLostAfterStaleConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	client := server.Client()
	var dials atomic.Int32
	store := open(t, server.Addr, &redisstore.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dials.Add(1) > 1 {
			conn = withoutReplies{conn}
		}
		return conn, err
	}})
	hits := []ratelimit.Hit{hit("one", 1), hit("other", 1)}
	require.NoError(t, store.Add(t.Context(), hits))
	require.NoError(t, client.ClientKillByFilter(t.Context(), "skipme", "yes").Err())
	require.Eventually(t, func() bool {
		return strings.Count(client.ClientList(t.Context()).Val(), "addr=")/2 == 1
	}, testTimeout, time.Millisecond)
	require.Error(t, store.Add(t.Context(), hits))
	require.Greater(t, dials.Load(), int32(1), "the first connection was stale")
	for _, h := range hits {
		require.Equal(t, "2", client.Get(t.Context(), string(h.Key)).Val(), "%s", h.Key)
	}
}

// withoutReplies loses the replies of a server.
type withoutReplies struct{ net.Conn }

func (c withoutReplies) Read(p []byte) (int, error) {
	_, _ = c.Conn.Read(p)
	return 0, io.EOF
}

// cuttingDialer cuts a connection in the first pipeline that has a counter.
type cuttingDialer struct{ most int }

func (s *cuttingDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &cutConn{Conn: conn, most: s.most}, err
}

type cutConn struct {
	net.Conn
	most int
}

func (c *cutConn) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("domain_key_")) || len(p) <= c.most {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:c.most])
	// What was written must arrive, and the rest must not.
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	return n, errors.New("cut off")
}

func TestLostCounterExpires(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	h := hit(uniqueName(), 3)
	for range 2 {
		require.EqualValues(t, 3, add(t, store, h))
		requireExpiries(t, client)
		require.NoError(t, client.FlushAll(t.Context()).Err())
	}
	require.NoError(t, client.ConfigResetStat(t.Context()).Err())
	require.EqualValues(t, 3, add(t, store, h))
	requireExpiries(t, client)
	require.Equal(t, 1, commandCalls(t, client, "pexpire"))
}

func TestServerRestart(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	h := hit(uniqueName(), 1)
	for range 5 {
		require.EqualValues(t, 1, add(t, store, h), "the first call after a restart uses a new connection")
		require.EqualValues(t, 2, add(t, store, h))
		requireExpiries(t, server.Client())
		server.Restart()
	}
}

func TestReadWritesNothing(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	h := hit(uniqueName(), 0)
	require.Zero(t, add(t, store, h))
	require.Zero(t, client.DBSize(t.Context()).Val())
	require.NoError(t, client.Set(t.Context(), string(h.Key), 7, 0).Err())
	require.EqualValues(t, 7, add(t, store, h))
	require.Equal(t, time.Duration(-1), client.PTTL(t.Context(), string(h.Key)).Val(), "the expiry is unchanged")
	require.Zero(t, commandCalls(t, client, "incrby"))
}

// TestSharedWithReferenceService counts on one counter together with commands of the
// reference service.
func TestSharedWithReferenceService(t *testing.T) {
	server := redistest.Start(t, nil)
	ours, client := open(t, server.Addr, nil), server.Client()
	h := hit(uniqueName(), 2)
	const writers, each = 8, 100
	ranks := make(chan uint64, writers*each)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for range each {
				if w%2 == 0 {
					hits := []ratelimit.Hit{h}
					if err := ours.Add(t.Context(), hits); err != nil {
						t.Error(err)
					}
					ranks <- hits[0].Count
					continue
				}
				ranks <- uint64(addLikeReferenceService(t, client, &h))
			}
		})
	}
	all.Wait()
	close(ranks)
	seen := make(map[uint64]bool)
	for rank := range ranks {
		require.False(t, seen[rank], "the count %d was returned twice", rank)
		seen[rank] = true
	}
	require.Equal(t, "1600", client.Get(t.Context(), string(h.Key)).Val())
	require.Len(t, seen, writers*each)
	requireExpiries(t, client)
}

// addLikeReferenceService sends the commands of the reference service (REFERENCE.md, 6.1).
func addLikeReferenceService(t *testing.T, client *redis.Client, h *ratelimit.Hit) int64 {
	var count *redis.IntCmd
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		count = pipe.IncrBy(t.Context(), string(h.Key), int64(h.N))
		pipe.Expire(t.Context(), string(h.Key), time.Hour)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return count.Val()
}
