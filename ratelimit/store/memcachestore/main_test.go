package memcachestore_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout limits anything that ends by itself, even on a busy machine.
const timeout = 30 * time.Second

// open returns a store that is closed when the test ends.
func open(t testing.TB, opts *memcachestore.Options, nodes ...string) *memcachestore.Store {
	t.Helper()
	var o memcachestore.Options
	if opts != nil {
		o = *opts
	}
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = timeout
	}
	store, err := memcachestore.New(nodes, &o)
	require.NoError(t, err)
	closeAtEnd(t, store)
	return store
}

func closeAtEnd(t testing.TB, store *memcachestore.Store) {
	t.Cleanup(func() { _ = store.Close() })
}

// start starts n servers and returns them and their addresses.
func start(t testing.TB, n int, opts *memcachetest.Options) (servers []*memcachetest.Server, addrs []string) {
	t.Helper()
	for range n {
		s := memcachetest.Start(t, opts)
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	return servers, addrs
}

// flush waits until all increments are made.
func flush(t testing.TB, store ratelimit.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	require.NoError(t, store.(*memcachestore.Store).Flush(ctx))
}

func hit(key string, n uint64) ratelimit.Hit { return hitIn(ratelimit.Hour, key, n) }

func hitIn(unit ratelimit.Unit, key string, n uint64) ratelimit.Hit {
	return ratelimit.Hit{Key: []byte(key), N: n, Limit: 10, Unit: unit, Window: unit.Window(time.Now().Unix())}
}

// add makes one call and returns the counts.
func add(t testing.TB, store *memcachestore.Store, hits ...ratelimit.Hit) []uint64 {
	t.Helper()
	require.NoError(t, store.Add(t.Context(), hits))
	counts := make([]uint64, len(hits))
	for i := range hits {
		counts[i] = hits[i].Count
	}
	return counts
}

func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("domain_key_value%d_1234", i)
	}
	return all
}
