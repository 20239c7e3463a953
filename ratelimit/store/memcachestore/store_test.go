package memcachestore_test

import (
	"context"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func refuses(key []byte) bool {
	for _, b := range key {
		if b <= ' ' || b == 0x7f {
			return true
		}
	}
	return len(key) > 250
}

func claims() *storetest.Options {
	return &storetest.Options{MaxCount: 1 << 62, Refuses: refuses, NotConditional: true, Subtracts: true, Charges: true}
}

// conformAtOnce applies the requirements for stores that increment at once to the counts that
// calls return: they are exact for a single instance.
func conformAtOnce(t *testing.T, opts *memcachestore.Options, nodes ...string) {
	t.Helper()
	storetest.Run(t, func(t *testing.T) ratelimit.Store { return open(t, opts, nodes...) }, claims())
}

// conformOnNodes checks the counters on the nodes after all increments.
func conformOnNodes(t *testing.T, opts *memcachestore.Options, nodes ...string) {
	t.Helper()
	claims := claims()
	claims.Flush = func(store ratelimit.Store) { flush(t, store) }
	storetest.Run(t, func(t *testing.T) ratelimit.Store { return open(t, opts, nodes...) }, claims)
}

func TestStore(t *testing.T) {
	_, nodes := start(t, 1, nil)
	t.Run("at once", func(t *testing.T) { conformAtOnce(t, nil, nodes...) })
	t.Run("on the node", func(t *testing.T) { conformOnNodes(t, nil, nodes...) })
}

func TestStoreOfThreeNodes(t *testing.T) {
	_, nodes := start(t, 3, nil)
	t.Run("at once", func(t *testing.T) { conformAtOnce(t, nil, nodes...) })
	t.Run("on the nodes", func(t *testing.T) { conformOnNodes(t, nil, nodes...) })
}

func TestStoreWithTLS(t *testing.T) {
	servers, nodes := start(t, 1, &memcachetest.Options{TLS: true})
	conformOnNodes(t, &memcachestore.Options{TLS: servers[0].ClientTLS(), MaxIdleConns: 32}, nodes...)
}

// TestStoreWithSmallQueue makes calls send their own increments, and wait for a single
// reader.
func TestStoreWithSmallQueue(t *testing.T) {
	_, nodes := start(t, 2, nil)
	conformAtOnce(t, &memcachestore.Options{MaxReads: 1, MaxWorkers: 1, MaxPending: 1, MaxIdleConns: 1}, nodes...)
}

func TestTLSIsVerified(t *testing.T) {
	servers, nodes := start(t, 1, &memcachetest.Options{TLS: true})
	config := servers[0].ClientTLS()
	config.ServerName = "somebody.else"
	require.ErrorContains(t, open(t, &memcachestore.Options{TLS: config}, nodes...).Ping(t.Context()), "somebody.else")
	config = servers[0].ClientTLS()
	config.RootCAs = nil
	require.ErrorContains(t, open(t, &memcachestore.Options{TLS: config}, nodes...).Ping(t.Context()), "TLS")
	require.Error(t, open(t, nil, nodes...).Ping(t.Context()), "a TLS node must reject plain connections")
}

// TestInstancesNeverCountTooMuch counts with several instances: the counts may be too low, but
// never higher than the number of hits.
func TestInstancesNeverCountTooMuch(t *testing.T) {
	const instances, each = 5, 100
	servers, nodes := start(t, 1, nil)
	var all sync.WaitGroup
	stores := make([]*memcachestore.Store, instances)
	counts := make([][]uint64, instances)
	for i := range instances {
		stores[i] = open(t, nil, nodes...)
		all.Go(func() {
			for range each {
				h := []ratelimit.Hit{hit("shared", 1)}
				if err := stores[i].Add(context.Background(), h); err != nil {
					t.Error(err)
					return
				}
				counts[i] = append(counts[i], h[0].Count)
			}
		})
	}
	all.Wait()
	for i, store := range stores {
		flush(t, store)
		for j, count := range counts[i] {
			if count <= uint64(j) || count > instances*each {
				t.Errorf("hit %d of instance %d was counted as %d: want more than its own earlier hits, and at most all hits", j+1, i, count)
			}
		}
	}
	require.Equal(t, strconv.Itoa(instances*each), servers[0].Value("shared"))
}

// TestAnotherWriter shares a counter with a plain client that increments as the reference
// service does.
func TestAnotherWriter(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	require.Equal(t, []uint64{2}, add(t, store, hit("domain_key_value_1234", 2)))
	flush(t, store)
	other := memcache.New(nodes...)
	other.Timeout = timeout
	defer func() { _ = other.Close() }()
	value, err := other.Increment("domain_key_value_1234", 3)
	require.NoError(t, err)
	require.EqualValues(t, 5, value)
	require.Equal(t, []uint64{6}, add(t, store, hit("domain_key_value_1234", 1)))
	flush(t, store)
	require.Equal(t, "6", servers[0].Value("domain_key_value_1234"))

	_, err = other.Decrement("domain_key_value_1234", 1)
	require.NoError(t, err)
	require.Equal(t, []uint64{5}, add(t, store, hit("domain_key_value_1234", 0)))
}

func TestLargeCounters(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for value, want := range map[uint64]uint64{
		math.MaxInt32:   1 << 31,
		1<<31 + 4:       1<<31 + 5,
		math.MaxUint32:  1 << 32,
		1<<62 - 1:       1 << 62,
		1 << 63:         1 << 63, // already above the maximum
		math.MaxUint64:  math.MaxUint64,
		100_000_000_000: 100_000_000_001,
	} {
		key := strconv.FormatUint(value, 10)
		servers[0].Set(key, key)
		require.Equal(t, []uint64{want}, add(t, store, hit(key, 1)), "1 more than %d", value)
		flush(t, store)
		require.Equal(t, strconv.FormatUint(want, 10), servers[0].Value(key), "the node, after 1 more than %d", value)
	}
}

// TestDecrementedNumber reads a number that has lost a digit: memcached pads it.
func TestDecrementedNumber(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	servers[0].Set("key", "10")
	require.Equal(t, "9", servers[0].Do("decr key 1"))
	require.Equal(t, "VA 2\n9 ", servers[0].Do("mg key v"))
	require.Equal(t, []uint64{10}, add(t, store, hit("key", 1)))
}

func TestNotANumber(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for _, value := range []string{"", "x", "-1", "1.5", " 1", "0x10", "18446744073709551616", "1\n"} {
		servers[0].Set("odd", value)
		hits := []ratelimit.Hit{hit("even", 1), hit("odd", 1)}
		err := store.Add(t.Context(), hits)
		require.ErrorIs(t, err, memcachestore.ErrNotANumber, "%q", value)
		require.ErrorContains(t, err, servers[0].Addr)
		require.ErrorContains(t, err, "hit 1")
		if value != "" {
			require.NotContains(t, err.Error(), `"`+value)
		}
	}
	flush(t, store)
	require.Empty(t, servers[0].Value("even"), "no hit of a call that fails may be counted")
	require.Equal(t, []uint64{1}, add(t, store, hit("even", 1)))
}

func TestLifetimes(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for unit := ratelimit.Second; unit.Valid(); unit++ {
		for _, jitter := range []uint32{0, 300} {
			key := unit.String() + strconv.Itoa(int(jitter))
			h := hitIn(unit, key, 1)
			h.Jitter = jitter
			before := time.Now()
			add(t, store, h)
			flush(t, store)
			if unit == ratelimit.Second && jitter == 0 {
				continue // it may expire before the query
			}
			reply := servers[0].Do("mg " + key + " t")
			left, err := strconv.Atoi(reply[len("HD t"):])
			require.NoError(t, err, reply)
			// Clocks have a resolution of a second, and that of a busy node is late.
			const about = 10
			want := int(unit.Seconds()) + int(jitter)
			require.LessOrEqual(t, left, want+about, key)
			require.GreaterOrEqual(t, left+int(time.Since(before).Seconds()), want-about, key)
		}
	}
}

func TestExpiryIn2038(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, c := range []struct {
		name string
		ttl  time.Duration
		now  time.Time
		want int32
	}{
		{"one second", time.Second, time.Unix(2e9, 0), 2},
		{"30 days are relative", 30*24*time.Hour - time.Second, time.Unix(2e9, 0), 30 * 86400},
		{"more is absolute", 30 * 24 * time.Hour, time.Unix(2e9, 0), 2e9 + 30*86400 + 1},
		{"a year", year, time.Unix(2e9, 0), 2e9 + 365*86400 + 1},
		{"the latest time of the protocol", year, time.Unix(math.MaxInt32-200*86400, 0), math.MaxInt32},
		{"shortly before the latest time", year, time.Unix(math.MaxInt32-86400, 0), 30 * 86400},
		{"after the latest time", year, time.Unix(math.MaxInt32+86400, 0), 30 * 86400},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, memcachestore.Expiry(c.ttl, c.now))
		})
	}
}

func TestStats(t *testing.T) {
	_, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	add(t, store, hit("a", 1), hit("b", 0), hit("a", 1))
	flush(t, store)
	require.Equal(t, memcachestore.Stats{
		MultiGet: memcachestore.Codes{Success: 1}, KeysRequested: 2,
		Increment: memcachestore.Codes{Miss: 1}, Add: memcachestore.Codes{Success: 1},
	}, store.Stats())
	add(t, store, hit("a", 1), hit("b", 0))
	flush(t, store)
	require.Equal(t, memcachestore.Stats{
		MultiGet: memcachestore.Codes{Success: 2}, KeysRequested: 4, KeysFound: 1,
		Increment: memcachestore.Codes{Miss: 1, Success: 1}, Add: memcachestore.Codes{Success: 1},
	}, store.Stats())
}
