package server_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// The names of spans of stores.
const (
	spanRedis     = "Redis Pipeline Execution"
	spanMemcached = "Memcached Fetch Execution"
)

// startTracing returns a receiver, and what sends spans to it.
func startTracing(t *testing.T, rate float64) (*spanReceiver, *tracing.Tracing) {
	t.Helper()
	r := &spanReceiver{}
	backend := httptest.NewServer(r)
	t.Cleanup(backend.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)
	tr, err := tracing.New(t.Context(), rate, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tr.Shutdown(context.Background()) })
	return r, tr
}

// named returns the only span of that name.
func (r *spanReceiver) named(t *testing.T, name string) *trace.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*trace.Span
	for _, s := range r.spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, name)
	return found[0]
}

// numbers returns the attributes of a span, all whole numbers.
func numbers(s *trace.Span) map[string]int64 {
	all := map[string]int64{}
	for _, a := range s.GetAttributes() {
		all[a.GetKey()] = a.GetValue().GetIntValue()
	}
	return all
}

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
	_, tr := startTracing(t, 1)
	open := func(*testing.T) ratelimit.Store {
		return server.TraceStore(tr, memstore.MustNew(nil), spanRedis, false)
	}
	storetest.Run(t, open, &storetest.Options{MaxCount: 1 << 62, Subtracts: true, Charges: true, Ledgers: true})
}

// TestStoreIsConditionalAsTheInner: a method that the inner store does not have is unsupported.
func TestStoreIsConditionalAsTheInner(t *testing.T) {
	_, tr := startTracing(t, 1)
	nothing := plain(func(context.Context, []ratelimit.Hit) error { return nil })
	for _, perSecond := range []bool{false, true} {
		add := func(inner ratelimit.Store) error {
			return server.TraceStore(tr, inner, "s", perSecond).(ratelimit.ConditionalStore).AddUnlessOver(t.Context(), make([]ratelimit.Hit, 1))
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
	r, tr := startTracing(t, 1)
	wrap := func(inner ratelimit.Store) ratelimit.ChargeStore {
		return server.TraceStore(tr, inner, spanRedis, false).(ratelimit.ChargeStore)
	}
	nothing := plain(func(context.Context, []ratelimit.Hit) error { return nil })
	require.ErrorIs(t, wrap(nothing).Charge(t.Context(), nil), errors.ErrUnsupported)
	require.NoError(t, wrap(charging{nothing}).Charge(t.Context(), nil))
	charges := []ratelimit.Charge{{Algorithm: ratelimit.TokenBucket, N: 1}, {Algorithm: ratelimit.SlidingWindow}}
	require.NoError(t, wrap(charging{nothing}).Charge(t.Context(), charges))
	require.True(t, charges[1].Allowed)
	require.NoError(t, tr.Shutdown(t.Context()))
	assert.Equal(t, map[string]int64{"hits": 2, "pipeline length": 2, "perSecondPipeline length": 0}, numbers(r.named(t, spanRedis)))
}

func TestStoreSpans(t *testing.T) {
	three := make([]ratelimit.Hit, 3)
	for _, c := range []struct {
		name      string
		perSecond bool
		want      map[string]int64
	}{
		{spanRedis, false, map[string]int64{"hits": 3, "pipeline length": 6, "perSecondPipeline length": 0}},
		{spanRedis, true, map[string]int64{"hits": 3, "pipeline length": 0, "perSecondPipeline length": 6}},
		{spanMemcached, false, map[string]int64{"hits": 3, "keysToGet length": 3}},
		{"my store", false, map[string]int64{"hits": 3}},
	} {
		for _, unlessOver := range []bool{false, true} {
			r, tr := startTracing(t, 1)
			failure := errors.New("unreachable")
			inner := conditional{func(ctx context.Context, _ []ratelimit.Hit) error {
				_, end := tr.StartSpan(ctx, "within", nil)
				end(nil)
				return failure
			}}
			store := server.TraceStore(tr, inner, c.name, c.perSecond)
			if unlessOver {
				require.Equal(t, failure, store.(ratelimit.ConditionalStore).AddUnlessOver(context.Background(), three))
			} else {
				require.Equal(t, failure, store.Add(context.Background(), three))
			}
			require.NoError(t, tr.Shutdown(t.Context()))
			s := r.named(t, c.name)
			assert.Equal(t, c.want, numbers(s))
			assert.Equal(t, trace.Status_STATUS_CODE_ERROR, s.GetStatus().GetCode())
			assert.Equal(t, s.GetSpanId(), r.named(t, "within").GetParentSpanId())
		}
	}
}

func TestStoreThatPanics(t *testing.T) {
	r, tr := startTracing(t, 1)
	store := server.TraceStore(tr, plain(func(context.Context, []ratelimit.Hit) error { panic("store") }), "s", false)
	assert.PanicsWithValue(t, "store", func() { _ = store.Add(context.Background(), nil) })
	require.NoError(t, tr.Shutdown(t.Context()))
	r.named(t, "s")
}

func TestStoreUnsampledAllocatesNothing(t *testing.T) {
	_, tr := startTracing(t, 0)
	calls := 0
	inner := conditional{func(context.Context, []ratelimit.Hit) error { calls++; return nil }}
	store := server.TraceStore(tr, inner, spanRedis, false).(ratelimit.ConditionalStore)
	ctx, hits := context.Background(), make([]ratelimit.Hit, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_ = store.Add(ctx, hits)
		_ = store.AddUnlessOver(ctx, hits)
	}))
	assert.Equal(t, 202, calls)
}
