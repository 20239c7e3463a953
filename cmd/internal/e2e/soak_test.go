//go:build unix

package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// soakGrowth returns the growth of the resident memory of a server after the first part of a load, in
// bytes, that is no leak. The race detector multiplies it.
func soakGrowth() int {
	if len(raceFlags()) > 0 {
		return 192 << 20
	}
	return 64 << 20
}

// TestSoakLoad loads ratelimitd with old and new keys, and inventoryd with changes. No hit and no
// acknowledged change may be lost. Memory must stay bounded, which make soak checks: two seconds
// are too short for a server to reach the size that it keeps.
func TestSoakLoad(t *testing.T) {
	t.Parallel()
	soak := scaletest.Soak(t)
	length := max(soak, 2*time.Second)
	requireBounded := func(t *testing.T, s *server, before int) {
		if soak > 0 {
			t.Logf("memory: %d MiB after the first part of the time, %d MiB at its end", before>>20, s.memory()>>20)
			require.Less(t, s.memory(), before+soakGrowth(), "bytes")
		}
	}
	for name, load := range map[string]struct {
		rate, keys int // calls per second and different keys, 0 for any number
		settings   func(t *testing.T) map[string]string
	}{
		"ratelimitd that forgets keys":   {0, 0, func(*testing.T) map[string]string { return map[string]string{"EMBEDDED_MAX_BYTES": "2000000"} }},
		"ratelimitd with 2,000,000 keys": {3000, 2_000_000, func(*testing.T) map[string]string { return map[string]string{} }},
		"ratelimitd with 2,000,000 keys in Redis": {3000, 2_000_000, func(t *testing.T) map[string]string {
			return map[string]string{"REDIS_URL": redistest.Start(t, nil).Addr}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := load.settings(t)
			more["GOGC"] = "" // that of the tests would hide growth
			s := serve(t, map[string]string{"shop.yaml": yearly}, more)
			const calls = 500
			begin, n := time.Now(), 0
			flood := func(until time.Duration) {
				for ; n == 0 || time.Since(begin) < until; n++ {
					s.flood(n*calls, (n+1)*calls, func(call int) *ratelimitv3.RateLimitRequest {
						if load.keys > 0 {
							call %= load.keys
						}
						return newRequest("shop", "load", "always", fmt.Sprint("new ", call))
					})
					if load.rate > 0 {
						time.Sleep(time.Until(begin.Add(time.Duration((n+1)*calls) * time.Second / time.Duration(load.rate))))
					}
				}
			}
			flood(length / 5) // 12 minutes of an hour, in which each of the keys has come
			before := s.memory()
			flood(length)
			requireBounded(t, s, before)
			t.Logf("%d calls, %.0f a second", n*calls, float64(n*calls)/time.Since(begin).Seconds())
			response, err := ratelimitv3.NewRateLimitServiceClient(dial(t, s.grpc)).ShouldRateLimit(t.Context(), newRequest("shop", "load", "always"))
			require.NoError(t, err)
			require.EqualValues(t, 4_000_000_000-n*calls-1, response.GetStatuses()[0].GetLimitRemaining())
			s.terminate()
		})
	}
	t.Run("inventoryd", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "inventory.db")
		i := startInventory(t, file, nil)
		watch := &server{process: i.process}
		load := loadStorage(i, 2)
		begin := time.Now()
		for time.Since(begin) < length/10 {
			load.await(1)
		}
		before := watch.memory()
		for time.Since(begin) < length {
			load.await(1)
		}
		load.end("load")
		requireBounded(t, watch, before)
		i.stop()
		load.requireExact("sqlite", file)
	})
}
