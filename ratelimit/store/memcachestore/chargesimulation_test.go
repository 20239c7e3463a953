package memcachestore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// simulatedCharges counts the charges of one key.
type simulatedCharges struct {
	limiters [2]*ratelimit.Limiter // of two instances
	name     string
	passed   atomic.Uint64
}

// chargeTotals counts what all simulations together have covered.
type chargeTotals struct{ passed, refused, failed, contended atomic.Int64 }

const simulatedChargeLimit = 40

// TestSimulationOfCharges has two instances charge limits on two nodes, of which one has faults: no more than the
// limit may pass, whatever is lost, executed late or sent half.
func TestSimulationOfCharges(t *testing.T) {
	var total chargeTotals
	seeds := 0
	for seed := range scaletest.Seeds(t, 10, 60) {
		synctest.Test(t, func(t *testing.T) { simulateCharges(t, seed, &total) })
		seeds++
	}
	t.Logf("%d passed, %d refused, %d failed, %d contended", total.passed.Load(), total.refused.Load(), total.failed.Load(), total.contended.Load())
	if seeds >= 10 {
		require.NotZero(t, min(total.passed.Load(), total.refused.Load(), total.failed.Load()), "the simulation does not cover all of these")
	}
}

func simulateCharges(t *testing.T, seed uint64, total *chargeTotals) {
	opts := &memcachestore.Options{Timeout: simulatedTimeout, CloseTimeout: time.Second, MaxWorkers: 1 + int(seed%4), MaxIdleConns: 1 + int(seed%5)}
	s := newSimulation(t, seed, opts)
	other, err := memcachestore.New([]string{"node:1", "node:2"}, opts)
	require.NoError(t, err)
	var keys []*simulatedCharges
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		limit := ratelimit.Limit{RequestsPerUnit: simulatedChargeLimit, Unit: ratelimit.Year, Algorithm: a}
		for _, name := range simulatedValues {
			keys = append(keys, &simulatedCharges{limiters: [2]*ratelimit.Limiter{limiter(t, s.store, limit), limiter(t, other, limit)}, name: name})
		}
	}
	end := time.Now().Add(simulatedTime)
	var callers sync.WaitGroup
	for caller := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(caller)))
		callers.Go(func() {
			for time.Now().Before(end) {
				keys[random.IntN(len(keys))].charge(t, caller%2, uint64(random.IntN(4)), total)
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 100))
	for time.Now().Before(end) {
		s.nodes[0].set(anyFault(random))
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		s.nodes[0].set(healthy)
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
	}
	callers.Wait()
	time.Sleep(time.Minute) // commands that were held are executed
	for _, k := range keys {
		if n := k.passed.Load(); n > simulatedChargeLimit {
			t.Errorf("%d hits passed of a limit of %d", n, simulatedChargeLimit)
		}
		status, err := k.limiters[0].AllowN(t.Context(), k.name, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, uint64(status.Remaining)+k.passed.Load(), uint64(simulatedChargeLimit), "a hit that passed is not on the node")
	}
	require.NoError(t, s.store.Close())
	require.NoError(t, other.Close())
	for _, n := range s.nodes {
		n.set(down)
	}
}

// charge charges n hits by an instance.
func (k *simulatedCharges) charge(t *testing.T, instance int, n uint64, total *chargeTotals) {
	began := time.Now()
	status, err := k.limiters[instance].AllowN(context.Background(), k.name, n)
	if took := time.Since(began); took > simulatedTimeout {
		t.Errorf("a call took %v", took)
	}
	switch {
	case errors.Is(err, memcachestore.ErrContended):
		total.contended.Add(1)
	case err != nil:
		total.failed.Add(1)
	case status.Allowed():
		k.passed.Add(n)
		total.passed.Add(1)
	default:
		total.refused.Add(1)
	}
}
