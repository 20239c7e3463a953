package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	gl "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledmem "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululemem "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// plenty is a limit that no run reaches, so that every limiter counts and none
// rejects early.
const plenty = 1 << 31

// taker returns a function with which one goroutine counts hits.
type taker func() func(key string)

// decide is the engine with one rule for all clients: match, count and evaluate.
func decide(tb testing.TB, stats ratelimit.Stats) taker {
	limit := ratelimit.Per(plenty, ratelimit.Hour)
	return decideBy(tb, []ratelimit.Rule{{Key: "client", Limit: &limit}}, stats)
}

// decideBy is the engine with any rules for key "client".
func decideBy(tb testing.TB, rules []ratelimit.Rule, stats ratelimit.Stats) taker {
	return decideWith(tb, rules, &ratelimit.Options{Stats: stats})
}

// decideWith is decideBy with options.
func decideWith(tb testing.TB, rules []ratelimit.Rule, opts *ratelimit.Options) taker {
	compiled, err := ratelimit.Compile([]ratelimit.Domain{{Name: "bench", Rules: rules}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), opts)
	engine.Use(compiled)
	return func() func(string) {
		entries := []ratelimit.Entry{{Key: "client"}}
		request := &ratelimit.Request{Domain: "bench", Descriptors: []ratelimit.Descriptor{{Entries: entries}}}
		var decision ratelimit.Decision
		ctx := context.Background()
		return func(key string) {
			entries[0].Value = key
			if err := engine.DecideInto(ctx, request, &decision); err != nil || !decision.Statuses[0].Limited {
				tb.Error("not limited", err)
			}
		}
	}
}

// take is a Limiter.
func take(tb testing.TB, limit ratelimit.Limit) taker {
	limiter, err := ratelimit.NewLimiter("test", memstore.MustNew(nil), limit, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	return func() func(string) {
		return func(key string) {
			if s, err := limiter.Allow(ctx, key); err != nil || !s.Allowed() {
				tb.Error("refused", err)
			}
		}
	}
}

func goLimiter(tb testing.TB) taker {
	store, err := memorystore.New(&memorystore.Config{Tokens: plenty, Interval: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close(context.Background()) })
	var _ gl.Store = store
	ctx := context.Background()
	return func() func(string) {
		return func(key string) {
			if _, _, _, ok, err := store.Take(ctx, key); err != nil || !ok {
				tb.Error("refused", err)
			}
		}
	}
}

func throttledGCRA(tb testing.TB) taker {
	store, err := throttledmem.NewCtx(0)
	if err != nil {
		tb.Fatal(err)
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerHour(plenty), MaxBurst: plenty})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	return func() func(string) {
		return func(key string) {
			// It fails when many goroutines use the same key at once.
			if limited, _, err := limiter.RateLimitCtx(ctx, key, 1); err == nil && limited {
				tb.Error("refused")
			}
		}
	}
}

func ululeLimiter(tb testing.TB) taker {
	limiter := ulule.New(ululemem.NewStore(), ulule.Rate{Period: time.Hour, Limit: plenty})
	ctx := context.Background()
	return func() func(string) {
		return func(key string) {
			if c, err := limiter.Get(ctx, key); err != nil || c.Reached {
				tb.Error("refused", err)
			}
		}
	}
}

// xTimeRate is the usual own solution: x/time/rate in a locked map.
func xTimeRate(tb testing.TB) taker {
	var mu sync.Mutex
	limiters := make(map[string]*rate.Limiter)
	return func() func(string) {
		return func(key string) {
			mu.Lock()
			l := limiters[key]
			if l == nil {
				l = rate.NewLimiter(1e9, plenty)
				limiters[key] = l
			}
			mu.Unlock()
			if !l.Allow() {
				tb.Error("refused")
			}
		}
	}
}
