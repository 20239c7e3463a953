package main

import (
	"math/bits"
	"time"
)

// A histogram counts durations in log-linear buckets, in the manner of Gil
// Tene's HDR histogram: every power of two is cut into 64 buckets of one width.
// Durations below 128 ns are exact. Any other is reported as the middle of its
// bucket, which is off by at most half a bucket, 1/128 of the value (0.8 %).
//
// The memory is fixed, 21 KiB, whatever is recorded. Durations from 39 hours up
// share the last bucket; the largest of all is kept exactly. The zero value is
// ready to use. A histogram belongs to one goroutine: every worker has its own,
// and they are merged when the workers are done.
type histogram struct {
	counts [histogramBuckets]uint64
	n      uint64
	max    uint64
}

const (
	subBits          = 6                               // 64 buckets to a power of two
	maxShift         = 40                              // the last power of two begins at 64<<40 ns, 19.5 hours
	histogramBuckets = (maxShift + 2) * (1 << subBits) // the first 128 are the exact ones
)

// record counts one duration; a negative one, which only a clock that was set
// back could give, counts as zero.
func (h *histogram) record(d time.Duration) {
	v := uint64(max(d, 0))
	h.counts[bucketOf(v)]++
	h.n++
	h.max = max(h.max, v)
}

// merge adds all that o has counted.
func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// quantile returns the smallest recorded duration that at least the fraction q
// of all do not exceed (the nearest rank), within the error of a bucket. It is 0
// when nothing was recorded.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.n))
	if float64(rank) < q*float64(h.n) || rank == 0 {
		rank++
	}
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return time.Duration(min(middleOf(i), h.max))
		}
	}
	return time.Duration(h.max)
}

// bucketOf keeps the leading seven bits of v: the shift says which power of two,
// the bits which of its 64 buckets.
func bucketOf(v uint64) int {
	shift := max(bits.Len64(v)-(subBits+1), 0)
	if shift > maxShift {
		return histogramBuckets - 1
	}
	return shift<<subBits + int(v>>shift)
}

// middleOf is the middle of a bucket's range, and the value itself where the
// buckets are exact.
func middleOf(bucket int) uint64 {
	if bucket < 2<<subBits {
		return uint64(bucket)
	}
	shift := bucket>>subBits - 1
	low := uint64(bucket-shift<<subBits) << shift
	return low + uint64(1)<<shift/2
}
