package tracing_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

// plain is a store that is not a ratelimit.ConditionalStore.
type plain func(context.Context, []ratelimit.Hit) error

// Add calls f.
func (f plain) Add(ctx context.Context, hits []ratelimit.Hit) error { return f(ctx, hits) }

// conditional is a ratelimit.ConditionalStore.
type conditional struct{ plain }

// AddUnlessOver does the same as Add.
func (c conditional) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return c.plain(ctx, hits)
}

func TestStoreKeepsTheContract(t *testing.T) {
	receive(t, "http")
	tr := start(t, 1, nil)
	open := func(*testing.T) ratelimit.Store { return tr.Store(memstore.MustNew(nil), tracing.SpanRedis) }
	storetest.Run(t, open, &storetest.Options{MaxCount: 1 << 62, Subtracts: true, Charges: true, Ledgers: true})
}

// TestStoreIsConditionalAsTheInner: a method that the inner store does not have is unsupported.
func TestStoreIsConditionalAsTheInner(t *testing.T) {
	receive(t, "http")
	tr := start(t, 1, nil)
	nothing := plain(func(context.Context, []ratelimit.Hit) error { return nil })
	for _, wrap := range []func(ratelimit.Store, string) ratelimit.Store{tr.Store, tr.PerSecondStore} {
		add := func(inner ratelimit.Store) error {
			return wrap(inner, "s").(ratelimit.ConditionalStore).AddUnlessOver(t.Context(), make([]ratelimit.Hit, 1))
		}
		assert.ErrorIs(t, add(nothing), errors.ErrUnsupported)
		assert.NoError(t, add(conditional{nothing}))
	}
}

// charging is a ratelimit.ChargeStore.
type charging struct{ plain }

// Charge applies the charges to new states.
func (charging) Charge(_ context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		charges[i].Apply(new(ratelimit.State))
	}
	return nil
}

func TestStoreChargesAsTheInner(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	wrap := func(inner ratelimit.Store) ratelimit.ChargeStore {
		return tr.Store(inner, tracing.SpanRedis).(ratelimit.ChargeStore)
	}
	nothing := plain(func(context.Context, []ratelimit.Hit) error { return nil })
	require.ErrorIs(t, wrap(nothing).Charge(t.Context(), nil), errors.ErrUnsupported)
	require.NoError(t, wrap(charging{nothing}).Charge(t.Context(), nil))
	charges := []ratelimit.Charge{{Algorithm: ratelimit.TokenBucket, N: 1}, {Algorithm: ratelimit.SlidingWindow}}
	require.NoError(t, wrap(charging{nothing}).Charge(t.Context(), charges))
	require.True(t, charges[1].Allowed)
	flush(t, tr)
	s := r.named(t, tracing.SpanRedis)
	assert.Equal(t, map[string]any{"hits": int64(2), "pipeline length": int64(2), "perSecondPipeline length": int64(0)}, s.attrs)
}

func TestStoreSpans(t *testing.T) {
	three := make([]ratelimit.Hit, 3)
	for _, c := range []struct {
		name      string
		perSecond bool
		want      map[string]any
	}{
		{tracing.SpanRedis, false, map[string]any{"hits": int64(3), "pipeline length": int64(6), "perSecondPipeline length": int64(0)}},
		{tracing.SpanRedis, true, map[string]any{"hits": int64(3), "pipeline length": int64(0), "perSecondPipeline length": int64(6)}},
		{tracing.SpanMemcached, false, map[string]any{"hits": int64(3), "keysToGet length": int64(3)}},
		{"my store", false, map[string]any{"hits": int64(3)}},
	} {
		for _, unlessOver := range []bool{false, true} {
			r := receive(t, "http")
			tr := start(t, 1, nil)
			failure := errors.New("unreachable")
			inner := conditional{func(ctx context.Context, _ []ratelimit.Hit) error {
				_, end := tr.StartSpan(ctx, "within", nil)
				end(nil)
				return failure
			}}
			store := tr.Store(inner, c.name)
			if c.perSecond {
				store = tr.PerSecondStore(inner, c.name)
			}
			if unlessOver {
				require.Equal(t, failure, store.(ratelimit.ConditionalStore).AddUnlessOver(context.Background(), three))
			} else {
				require.Equal(t, failure, store.Add(context.Background(), three))
			}
			flush(t, tr)
			s := r.named(t, c.name)
			assert.Equal(t, c.want, s.attrs)
			assert.True(t, s.failed())
			assert.Equal(t, s.id(), r.named(t, "within").parent())
		}
	}
}

func TestStoreThatPanics(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	store := tr.Store(plain(func(context.Context, []ratelimit.Hit) error { panic("store") }), "s")
	assert.PanicsWithValue(t, "store", func() { _ = store.Add(context.Background(), nil) })
	flush(t, tr)
	r.named(t, "s")
}

func TestStoreUnsampledAllocatesNothing(t *testing.T) {
	receive(t, "http")
	tr := start(t, 0, nil)
	calls := 0
	inner := conditional{func(context.Context, []ratelimit.Hit) error { calls++; return nil }}
	store := tr.Store(inner, tracing.SpanRedis).(ratelimit.ConditionalStore)
	ctx, hits := context.Background(), make([]ratelimit.Hit, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_ = store.Add(ctx, hits)
		_ = store.AddUnlessOver(ctx, hits)
	}))
	assert.Equal(t, 202, calls)
}
