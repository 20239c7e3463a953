package redisstore_test

import (
	"crypto/rand"
	"flag"
	"fmt"
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

// hit is n hits on a counter of the current hour.
func hit(name string, n uint64) ratelimit.Hit { return hitIn(ratelimit.Hour, name, n) }

func hitIn(unit ratelimit.Unit, name string, n uint64) ratelimit.Hit {
	window := unit.Window(time.Now().Unix())
	return ratelimit.Hit{Key: fmt.Appendf(nil, "domain_key_%s_%d", name, window), N: n, Limit: 100, Unit: unit, Window: window}
}

// add counts one hit and returns the count.
func add(t testing.TB, store ratelimit.Store, h ratelimit.Hit) uint64 {
	t.Helper()
	hits := []ratelimit.Hit{h}
	require.NoError(t, store.Add(t.Context(), hits))
	return hits[0].Count
}
