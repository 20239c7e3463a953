package redisstore_test

import (
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func TestMain(m *testing.M) {
	// Tests that are parallel wait for servers most of the time.
	_ = flag.Set("test.parallel", "4")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// open makes a store that is closed when the test ends.
func open(t testing.TB, addr string, opts *redisstore.Options) *redisstore.Store {
	t.Helper()
	store, err := redisstore.New(addr, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// name is one that no other test uses.
func name() string { return rand.Text() }

// started is when the tests have begun. All hits are of that hour: a test that counts on
// while the next one begins has the same counter.
var started = time.Now()

// hit is n hits on a counter that outlives the tests, whenever its hour ends.
func hit(name string, n uint64) ratelimit.Hit {
	window := ratelimit.Hour.Window(started.Unix())
	return ratelimit.Hit{
		Key: fmt.Appendf(nil, "domain_key_%s_%d", name, window), N: n, Limit: 100,
		Unit: ratelimit.Hour, Window: window, Jitter: 3600,
	}
}

// add counts one hit and returns the count.
func add(t testing.TB, store ratelimit.Store, h ratelimit.Hit) uint64 {
	t.Helper()
	hits := []ratelimit.Hit{h}
	require.NoError(t, store.Add(t.Context(), hits))
	return hits[0].Count
}
