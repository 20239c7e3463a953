package redisstore_test

import (
	"context"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func openCluster(t *testing.T, addrs []string, opts *redisstore.Options) *redisstore.Cluster {
	t.Helper()
	store, err := redisstore.NewCluster(addrs, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.WaitReady(t.Context(), &redisstore.Backoff{Initial: 10 * time.Millisecond}))
	return store
}

// TestCluster shares one cluster among the tests that do not change it, and moves a slot
// last.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false, nil)
	for name, most := range map[string]int{"one": 1, "all": 0, "two": 2} {
		if testing.Short() && name != "two" {
			continue // the test "parallelism" has them too
		}
		t.Run(name, func(t *testing.T) {
			store := openCluster(t, cluster.Addrs()[:1], &redisstore.Options{Parallelism: most})
			storetest.Run(t, func(*testing.T) ratelimit.Store { return store },
				&storetest.Options{MaxCount: math.MaxInt64, NotConditional: true, Subtracts: true, Charges: true, Ledgers: true})
			testCharges(t, store, 20)
		})
	}
	t.Run("servers without a host", func(t *testing.T) { unknownEndpoints(t, cluster) })
	t.Run("parallelism", func(t *testing.T) { parallelism(t, cluster) })
	t.Run("a slot moves", func(t *testing.T) { slotMoves(t, cluster) })
}

// unknownEndpoints counts in a cluster whose servers do not say under which host they are reached, also while it
// redirects.
func unknownEndpoints(t *testing.T, cluster *redistest.Cluster) {
	set := func(kind string) {
		for _, s := range cluster.Masters {
			require.NoError(t, s.Client().ConfigSet(t.Context(), "cluster-preferred-endpoint-type", kind).Err())
		}
	}
	set("unknown-endpoint")
	defer set("ip")
	store := openCluster(t, cluster.Addrs()[:1], nil)
	for range 30 {
		require.Equal(t, uint64(2), add(t, store, hit(uniqueName(), 2)))
	}
}

func slotMoves(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster.Addrs(), nil)
	// Two counters of the slot that moves, and one of another slot.
	moving, born, other := "{a}"+uniqueName(), "{a}"+uniqueName(), "{b}"+uniqueName()
	slot := slotOf(t, cluster, moving)
	m := &migration{t, cluster, slot, cluster.Masters[ownerOf(cluster, slot)], cluster.Masters[(ownerOf(cluster, slot)+1)%3]}
	var tried atomic.Int64
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				hits := []ratelimit.Hit{hit(moving, 1), hit(other, 1), hit(moving, 0)}
				if tried.Load() > 200 {
					hits = append(hits, hit(born, 1))
				}
				if err := store.Add(context.Background(), hits); err != nil {
					t.Errorf("while a slot moves: %v", err)
					return
				}
				if hits[2].Count < hits[0].Count {
					t.Errorf("a call added to get %d, and read %d after that", hits[0].Count, hits[2].Count)
				}
				if err := (charger{store}).Add(context.Background(), hits[:2]); err != nil {
					t.Errorf("charges while a slot moves: %v", err)
					return
				}
				tried.Add(1)
			}
		})
	}
	progress := func() {
		before := tried.Load()
		require.Eventually(t, func() bool { return tried.Load() > before+200 }, testTimeout, time.Millisecond)
	}
	progress()
	m.begin()
	progress()
	m.move()
	progress()
	m.finish()
	progress()
	close(stop)
	all.Wait()
	n := uint64(tried.Load())
	require.Equal(t, n, add(t, store, hit(moving, 0)), "each hit on the moved slot is counted once")
	require.Equal(t, n, add(t, store, hit(other, 0)))
	require.Equal(t, n, add(t, charger{store}, hit(moving, 0)), "each is taken once")
	for _, master := range cluster.Masters {
		requireExpiries(t, master.Client())
	}
}

func TestClusterOfValkey(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false, &redistest.Options{Program: redistest.Valkey()})
	unknownEndpoints(t, cluster)
	slotMoves(t, cluster)
}

func TestClusterFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, true, nil)
	store := openCluster(t, cluster.Addrs(), &redisstore.Options{Timeout: 30 * time.Second})
	hits := make([]ratelimit.Hit, 30) // some on each node
	for i := range hits {
		hits[i] = hit(uniqueName(), 1)
	}
	rounds := uint64(0)
	count := func() error { return store.Add(t.Context(), hits) }
	require.NoError(t, count())
	rounds++
	cluster.Masters[0].Kill()
	// An error, unless the replica has been promoted already.
	_ = withinTestTimeout(t, func(context.Context) error { return count() })
	rounds++
	require.Eventually(t, func() bool { rounds++; return count() == nil }, testTimeout, 20*time.Millisecond)
	for i := range hits {
		require.LessOrEqual(t, hits[i].Count, rounds, "no hit is counted twice")
	}
	require.NoError(t, store.Ping(t.Context()))
	for _, s := range append(cluster.Masters[1:], cluster.Replicas...) {
		if role, _ := s.Client().Do(t.Context(), "role").Slice(); len(role) > 0 && role[0] == "master" {
			requireExpiries(t, s.Client())
		}
	}
}

func TestClusterWithTLS(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false, &redistest.Options{TLS: true, Password: "data"})
	opts := &redisstore.Options{Auth: "data", TLS: cluster.Masters[0].ClientTLS(), Timeout: 30 * time.Second}
	store := openCluster(t, cluster.Addrs()[:1], opts)
	hits := make([]ratelimit.Hit, 30) // some on each node
	for i := range hits {
		hits[i] = hit(uniqueName(), 1)
	}
	for want := range uint64(3) {
		require.NoError(t, store.Add(t.Context(), hits))
		for _, h := range hits {
			require.Equal(t, want+1, h.Count)
		}
	}
	for _, m := range cluster.Masters {
		require.Positive(t, m.Client().DBSize(t.Context()).Val(), "each node counts")
	}
	opts.TLS = nil
	opts.Timeout = time.Second
	plain, err := redisstore.NewCluster(cluster.Addrs(), opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, plain.Close()) }()
	require.ErrorContains(t, withinTestTimeout(t, plain.Ping), "not ready")
}

func TestNotACluster(t *testing.T) {
	server := redistest.Start(t, nil)
	for addr, reason := range map[string]string{server.Addr: "disabled", "127.0.0.1:1": "127.0.0.1:1"} {
		store, err := redisstore.NewCluster([]string{addr}, nil)
		require.NoError(t, err)
		err = store.Add(t.Context(), []ratelimit.Hit{hit("x", 1)})
		require.ErrorContains(t, err, "slots")
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, store.Ping(t.Context()), reason)
		require.NoError(t, store.Close())
		require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrClosed)
		require.ErrorIs(t, store.Add(t.Context(), []ratelimit.Hit{hit("x", 1)}), redisstore.ErrClosed)
	}
}

// replyGate holds back replies while it is closed, and records which servers got requests.
type replyGate struct {
	gate      atomic.Pointer[chan struct{}]
	requested sync.Map // of addresses
}

func (w *replyGate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return gatedConn{blockedConn{conn, &w.gate}, w, addr}, err
}

// shut closes the gate.
func (w *replyGate) shut() (open func()) {
	gate := make(chan struct{})
	w.gate.Store(&gate)
	return sync.OnceFunc(func() {
		w.gate.Store(nil)
		close(gate)
	})
}

// servers returns how many servers got requests since the gate was closed.
func (w *replyGate) servers() (n int) {
	w.requested.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

type gatedConn struct {
	blockedConn
	replyGate *replyGate
	addr      string
}

func (c gatedConn) Write(p []byte) (int, error) {
	if c.replyGate.gate.Load() != nil {
		c.replyGate.requested.Store(c.addr, true)
	}
	return c.blockedConn.Write(p)
}

// parallelism makes one call that needs three servers, and checks how many of them get
// requests before one has replied.
func parallelism(t *testing.T, cluster *redistest.Cluster) {
	for what, c := range map[string]struct{ poolSize, parallelism, want int }{
		"as many as the call needs":        {10, 0, 3},
		"no more than the pool":            {2, 0, 2},
		"one, by the pool":                 {1, 0, 1},
		"one after the other":              {10, 1, 1},
		"two":                              {10, 2, 2},
		"not more than the pool by choice": {2, 3, 2},
	} {
		t.Run(what, func(t *testing.T) {
			w := new(replyGate)
			store := openCluster(t, cluster.Addrs(), &redisstore.Options{
				PoolSize: c.poolSize, Parallelism: c.parallelism, Timeout: longTimeout, Dial: w.dial,
			})
			hits := oneHitEach(t, cluster)
			release := w.shut()
			defer release()
			done := make(chan error, 1)
			go func() { done <- store.Add(context.Background(), hits) }()
			require.Eventually(t, func() bool { return w.servers() == c.want }, testTimeout, time.Millisecond)
			require.Never(t, func() bool { return w.servers() > c.want }, 30*time.Millisecond, 5*time.Millisecond)
			release()
			require.NoError(t, <-done)
			for _, h := range hits {
				require.EqualValues(t, 1, h.Count)
			}
		})
	}
}

// oneHitEach returns one hit for each master.
func oneHitEach(t *testing.T, cluster *redistest.Cluster) []ratelimit.Hit {
	t.Helper()
	hits := make([]ratelimit.Hit, len(cluster.Masters))
	for found := 0; found < len(hits); {
		h := hit(uniqueName(), 1)
		if at := ownerOf(cluster, slotOf(t, cluster, string(h.Key))); hits[at].Key == nil {
			hits[at] = h
			found++
		}
	}
	return hits
}
