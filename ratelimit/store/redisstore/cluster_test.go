package redisstore_test

import (
	"context"
	"math"
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

// TestCluster has one cluster for all that leaves it as it is, and for what moves a slot
// in the end.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false, nil)
	for name, most := range map[string]int{"one": 1, "all": 0, "two": 2} {
		t.Run(name, func(t *testing.T) {
			store := openCluster(t, cluster.Addrs()[:1], &redisstore.Options{Parallelism: most})
			storetest.Run(t, func(*testing.T) ratelimit.Store { return store },
				&storetest.Options{MaxCount: math.MaxInt64, NotConditional: true})
		})
	}
	t.Run("parallelism", func(t *testing.T) { parallelism(t, cluster) })
	t.Run("a slot moves", func(t *testing.T) { slotMoves(t, cluster) })
}

func slotMoves(t *testing.T, cluster *redistest.Cluster) {
	store := openCluster(t, cluster.Addrs(), nil)
	// Two counters of the slot that moves, and one of another.
	moving, born, other := "{a}"+name(), "{a}"+name(), "{b}"+name()
	slot := cluster.Slot(moving)
	from := cluster.Masters[cluster.Owner(slot)]
	to := cluster.Masters[(cluster.Owner(slot)+1)%3]
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
					t.Errorf("a call has counted %d and reads %d after that", hits[0].Count, hits[2].Count)
				}
				tried.Add(1)
			}
		})
	}
	progress := func() {
		before := tried.Load()
		require.Eventually(t, func() bool { return tried.Load() > before+200 }, forever, time.Millisecond)
	}
	progress()
	m := cluster.Migrate(slot, from, to)
	progress()
	m.Move()
	progress()
	m.Finish()
	progress()
	close(stop)
	all.Wait()
	n := uint64(tried.Load())
	require.Equal(t, n, add(t, store, hit(moving, 0)), "each hit on the slot that has moved is counted once")
	require.Equal(t, n, add(t, store, hit(other, 0)))
	for _, master := range cluster.Masters {
		mortal(t, master.Client())
	}
}

func TestClusterLosesAMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, true, nil)
	store := openCluster(t, cluster.Addrs(), &redisstore.Options{Timeout: 30 * time.Second})
	hits := make([]ratelimit.Hit, 30) // some on each node
	for i := range hits {
		hits[i] = hit(name(), 1)
	}
	rounds := uint64(0)
	count := func() error { return store.Add(t.Context(), hits) }
	require.NoError(t, count())
	rounds++
	cluster.Masters[0].Kill()
	// An error, unless the replica has taken over already.
	_ = bounded(t, func(context.Context) error { return count() })
	rounds++
	require.Eventually(t, func() bool { rounds++; return count() == nil }, forever, 20*time.Millisecond)
	for i := range hits {
		require.LessOrEqual(t, hits[i].Count, rounds, "no hit is counted twice")
	}
	require.NoError(t, store.Ping(t.Context()))
	for _, s := range append(cluster.Masters[1:], cluster.Replicas...) {
		if role, _ := s.Client().Do(t.Context(), "role").Slice(); len(role) > 0 && role[0] == "master" {
			mortal(t, s.Client())
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
		hits[i] = hit(name(), 1)
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
	require.ErrorContains(t, bounded(t, plain.Ping), "the cluster is not ready")
}

func TestNotACluster(t *testing.T) {
	server := redistest.Start(t, nil)
	for addr, reason := range map[string]string{server.Addr: "cluster support disabled", "127.0.0.1:1": "connecting to 127.0.0.1:1"} {
		store, err := redisstore.NewCluster([]string{addr}, nil)
		require.NoError(t, err)
		err = store.Add(t.Context(), []ratelimit.Hit{hit("x", 1)})
		require.ErrorContains(t, err, "no server of the cluster reports its slots")
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, store.Ping(t.Context()), reason)
		require.NoError(t, store.Close())
		require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrClosed)
		require.ErrorIs(t, store.Add(t.Context(), []ratelimit.Hit{hit("x", 1)}), redisstore.ErrClosed)
	}
}
