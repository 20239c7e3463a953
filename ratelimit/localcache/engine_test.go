package localcache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
)

// farStore is a store that counts its calls.
type farStore struct {
	counts map[string]uint64
	calls  int
	fails  bool
}

func (s *farStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	if s.calls++; s.fails {
		return errors.New("unreachable")
	}
	for i := range hits {
		h := &hits[i]
		s.counts[string(h.Key)] += h.N
		h.Count = s.counts[string(h.Key)]
	}
	return nil
}

func ExampleNew() {
	cache, err := localcache.New(16<<20, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	store := &farStore{counts: map[string]uint64{}}
	limiter, err := ratelimit.NewLimiter("test", store, ratelimit.Per(2, ratelimit.Year), &ratelimit.Options{OverLimitCache: cache})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 100 {
		if _, err := limiter.Allow(context.Background(), "alice"); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("the store was called", store.calls, "times")
	fmt.Println("the cache replaced", cache.Stats().HitCount)
	// Output:
	// the store was called 3 times
	// the cache replaced 97
}

// Another instance gives a hit back, which this one sees within a second. Until then it reads the counter
// once a second, and adds nothing.
func TestEngineReadsOnceASecond(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	cache, err := localcache.New(1<<20, &localcache.Options{Now: clock})
	require.NoError(t, err)
	store := &farStore{counts: map[string]uint64{}}
	limiter, err := ratelimit.NewLimiter("test", store, ratelimit.Per(1, ratelimit.Year), &ratelimit.Options{OverLimitCache: cache, Now: clock})
	require.NoError(t, err)
	allow := func() ratelimit.Code {
		t.Helper()
		s, err := limiter.Allow(context.Background(), "alice")
		require.NoError(t, err)
		return s.Code
	}
	require.Equal(t, ratelimit.OK, allow())
	for second := range 3 {
		for range 10 {
			require.Equal(t, ratelimit.OverLimit, allow())
		}
		require.Equal(t, 2+second, store.calls)
		for _, count := range store.counts {
			require.EqualValues(t, 2, count)
		}
		now = now.Add(time.Second)
	}
	store.fails = true // what is known is still true
	require.Equal(t, ratelimit.OverLimit, allow())
	store.fails = false
	for key := range store.counts {
		store.counts[key] -= 2
	}
	require.Equal(t, ratelimit.OverLimit, allow(), "in the same second")
	now = now.Add(time.Second)
	require.Equal(t, ratelimit.OK, allow())
	require.Equal(t, ratelimit.OverLimit, allow())
	require.Equal(t, ratelimit.OverLimit, allow())
	for _, count := range store.counts {
		require.EqualValues(t, 2, count)
	}
}

func TestEngineAsksAgainInTheNextWindow(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	cache, err := localcache.New(1<<20, &localcache.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	store := &farStore{counts: map[string]uint64{}}
	limiter, err := ratelimit.NewLimiter("test", store, ratelimit.Per(1, ratelimit.Minute),
		&ratelimit.Options{OverLimitCache: cache, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	charge := func(want ratelimit.Code, calls int) {
		t.Helper()
		s, err := limiter.Allow(context.Background(), "alice")
		if err != nil || s.Code != want || store.calls != calls {
			t.Errorf("%v, %v, store calls %d times; want %v and %d", s.Code, err, store.calls, want, calls)
		}
	}
	charge(ratelimit.OK, 1)
	charge(ratelimit.OverLimit, 2)
	charge(ratelimit.OverLimit, 2)
	now = now.Add(time.Minute)
	charge(ratelimit.OK, 3)
}
