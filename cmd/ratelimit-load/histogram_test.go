package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// quantiles that are checked; the last is the maximum.
func quantiles() []float64 { return []float64{0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1} }

// exact is the nearest rank of sorted values.
func exact(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}

// TestHistogramError compares with exact quantiles of data whose logarithm is
// uniform, so that all scales from nanoseconds to hours occur.
func TestHistogramError(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 100, 1001, 50_000} {
		var parts [3]histogram
		var values []time.Duration
		for i := range n {
			v := time.Duration(math.Exp(random.Float64() * math.Log(float64(30*time.Hour))))
			parts[i%len(parts)].record(v)
			values = append(values, v)
		}
		slices.Sort(values)
		merged := parts[0]
		merged.merge(&parts[1])
		merged.merge(&parts[2])
		for _, q := range quantiles() {
			want := exact(values, q)
			assert.InDelta(t, want, merged.quantile(q), float64(want)/128, "n %d, quantile %v", n, q)
		}
		assert.EqualValues(t, values[n-1], merged.max)
	}
}

func TestHistogramSmallValuesAreExact(t *testing.T) {
	t.Parallel()
	for v := range time.Duration(128) {
		var h histogram
		h.record(v)
		h.record(1 << 20)
		assert.Equal(t, v, h.quantile(0.5))
	}
}

func TestHistogramEdges(t *testing.T) {
	t.Parallel()
	var h histogram
	assert.Zero(t, h.quantile(0.5), "nothing recorded")
	h.record(-5)
	assert.Zero(t, h.quantile(1), "a negative duration counts as zero")
	h.record(math.MaxInt64)
	assert.EqualValues(t, uint64(math.MaxInt64), h.max, "the maximum is exact however long")
	assert.Greater(t, h.quantile(1), 38*time.Hour, "and the rest is in the last bucket")
}

// TestBucketsAreContiguous says that no value falls between two buckets: at each
// boundary the index grows by one.
func TestBucketsAreContiguous(t *testing.T) {
	t.Parallel()
	for bucket := range histogramBuckets {
		assert.Equal(t, bucket, bucketOf(middleOf(bucket)))
	}
	for shift := range maxShift {
		boundary := uint64(128) << shift
		assert.Equal(t, bucketOf(boundary-1)+1, bucketOf(boundary), "at %d", boundary)
	}
}

func BenchmarkHistogramRecord(b *testing.B) {
	var h histogram
	v := time.Duration(1)
	for b.Loop() {
		h.record(v)
		v = v*5%1_000_003 + 1
	}
}
