package redisstore_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
)

// Three instances with four workers each make 60 calls at 20 a second: none takes the turns of others.
func TestWaitInSeveralInstances(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	for name, lease := range map[string]bool{"bucket": false, "leased bucket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			waits := make(chan time.Duration, 60)
			began := time.Now()
			for range 3 {
				var store ratelimit.Store = open(t, server.Addr, nil)
				if lease {
					leases, err := leasestore.New(store, nil)
					require.NoError(t, err)
					t.Cleanup(func() { _ = leases.Close() })
					store = leases.Store()
				}
				l, err := ratelimit.NewLimiter(name, store, ratelimit.Limit{
					Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 20, Burst: 1, Unit: ratelimit.Second, Lease: lease,
				}, nil)
				require.NoError(t, err)
				for range 4 {
					all.Go(func() {
						for range 5 {
							asked := time.Now()
							if err := l.Wait(t.Context(), "key"); err != nil {
								t.Error(err)
							}
							waits <- time.Since(asked)
						}
					})
				}
			}
			all.Wait()
			took := time.Since(began)
			close(waits)
			longest := slices.MaxFunc(slices.Collect(func(yield func(time.Duration) bool) {
				for d := range waits {
					if !yield(d) {
						return
					}
				}
			}), func(a, b time.Duration) int { return int(a - b) })
			t.Logf("60 calls took %v, the longest %v", took, longest)
			require.Greater(t, took, 2900*time.Millisecond)
			require.Less(t, took, 6*time.Second, "3 s on an idle machine")
			require.Less(t, longest, 1500*time.Millisecond, "600 ms on an idle machine")
		})
	}
}
