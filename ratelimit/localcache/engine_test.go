package localcache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// farStore is a store that counts its calls.
type farStore struct {
	counts map[string]uint64
	calls  int
}

func (s *farStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	s.calls++
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

// countedStore counts the calls of Add.
type countedStore struct {
	*redisstore.Store
	calls int
}

func (s *countedStore) Add(ctx context.Context, hits []ratelimit.Hit) error {
	s.calls++
	return s.Store.Add(ctx, hits)
}

// TestRefundByAnotherInstance has two instances on one Redis: what one gives back, or resets, is available on the
// other within a second, for which that calls the store once a second.
func TestRefundByAnotherInstance(t *testing.T) {
	server := redistest.Start(t, nil)
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	var stores [2]*countedStore
	var limiters [2]*ratelimit.Limiter
	for i := range limiters {
		cache, err := localcache.New(1<<20, &localcache.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		store, err := redisstore.New(server.Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		stores[i] = &countedStore{Store: store}
		if limiters[i], err = ratelimit.NewLimiter("test", stores[i], ratelimit.Per(3, ratelimit.Year),
			&ratelimit.Options{OverLimitCache: cache, Now: clock}); err != nil {
			t.Fatal(err)
		}
	}
	allow := func(i, n int) (passed int) {
		t.Helper()
		for range n {
			s, err := limiters[i].Allow(t.Context(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			if s.Allowed() {
				passed++
			}
		}
		return passed
	}
	for i, back := range []func() error{
		func() error { return nil },
		func() error { return limiters[1].Reset(t.Context(), "alice") },
		func() error { return limiters[1].Refund(t.Context(), "alice", 1000) },
	} {
		if err := back(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if passed := allow(0, 10); passed != 3 {
			t.Errorf("change %d: %d hits passed on the other instance after a second, want 3", i, passed)
		}
		allow(1, 1)
	}
	stores[0].calls = 0
	for range 10 {
		allow(0, 1000)
		now = now.Add(time.Second)
	}
	if stores[0].calls > 10 {
		t.Errorf("10,000 hits over the limit in 10 seconds called the store %d times, want 10 at most", stores[0].calls)
	}
}
