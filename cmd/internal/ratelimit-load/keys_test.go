package main

import (
	"math"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

const draws = 100_000

// drawn counts how often each key is picked.
func drawn(distribution string, keys int) []float64 {
	pick := newPicker(distribution, keys, 0)
	counts := make([]float64, keys)
	for ticket := range uint64(draws) {
		counts[pick(ticket)]++
	}
	return counts
}

// within five standard deviations of a binomial count, which one in a million
// seeds would miss; the seed is fixed, so the test never flickers.
func within(t *testing.T, p, count float64, key int) {
	t.Helper()
	assert.InDelta(t, p*draws, count, 5*math.Sqrt(draws*p*(1-p))+1, "key %d", key)
}

func TestUniform(t *testing.T) {
	t.Parallel()
	for key, count := range drawn("uniform", 40) {
		within(t, 1.0/40, count, key)
	}
}

func TestHotAndSequence(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{draws, 0, 0, 0}, drawn("hot", 4))
	assert.Equal(t, []float64{draws / 4, draws / 4, draws / 4, draws / 4}, drawn("sequence", 4))
	pick := newPicker("sequence", 3, 0)
	assert.Equal(t, []int{0, 1, 2, 0}, []int{pick(0), pick(1), pick(2), pick(3)})
}

func TestWorkersDiffer(t *testing.T) {
	t.Parallel()
	choices := func(worker int) []int {
		pick := newPicker("uniform", 1000, worker)
		var got []int
		for ticket := range uint64(50) {
			got = append(got, pick(ticket))
		}
		return got
	}
	assert.Equal(t, choices(2), choices(2))
	assert.NotEqual(t, choices(2), choices(3))
}

func TestOneKey(t *testing.T) {
	t.Parallel()
	for _, d := range []string{"uniform", "hot", "sequence"} {
		assert.Equal(t, []float64{draws}, drawn(d, 1), d)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := &settings{domain: "d", entry: "user", keys: 3, descriptors: 2}
	encoded, err := encodeRequests(s)
	require.NoError(t, err)
	for key, want := range [][]string{{"0", "1"}, {"1", "2"}, {"2", "0"}} {
		var request ratelimitv3.RateLimitRequest
		require.NoError(t, proto.Unmarshal(encoded[key], &request))
		assert.Equal(t, "d", request.GetDomain())
		assert.EqualValues(t, 1, request.GetHitsAddend())
		require.Len(t, request.GetDescriptors(), 2)
		for i, d := range request.GetDescriptors() {
			require.Len(t, d.GetEntries(), 1)
			assert.Equal(t, "user", d.GetEntries()[0].GetKey())
			assert.Equal(t, want[i], d.GetEntries()[0].GetValue())
		}
	}
}
