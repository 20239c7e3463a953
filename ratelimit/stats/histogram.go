package stats

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Histogram counts durations in buckets whose width grows with the duration: every
// power of two has 512 buckets. Durations below 488 ns are exact; any other is known
// to within 1/512. Durations of more than 6 days share the last bucket. The zero
// value is ready to use, by any number of goroutines. It grows by 4 KiB for each
// power of two that is recorded.
//
// A bucket never spans a whole number of milliseconds below 1,024 ms, so that
// [Histogram.Milliseconds] is exact there.
type Histogram struct {
	// The pages come first, so that the ones in use do not share a cache line with sum.
	pages    [pages]atomic.Pointer[page]
	sum, max atomic.Uint64 // nanoseconds
}

// Buckets are counted in units of 1 ms / 2^20, about 0.95 ns. The first page has a
// bucket for each unit; each page after it covers one power of two.
const (
	pageBits = 9
	pageSize = 1 << pageBits
	pages    = 42
	msBits   = 20
	longest  = time.Duration(1) << 49 // what is longer is in the last bucket
)

type page [pageSize]atomic.Uint64

// Record counts one duration. A negative one counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.sum.Add(uint64(d))
	h.raiseMax(uint64(d))
	h.bucket(uint64(min(d, longest)) * (1 << 14) / 15625).Add(1) // 2^20 / 1,000,000, shortened
}

func (h *Histogram) raiseMax(n uint64) {
	for m := h.max.Load(); n > m && !h.max.CompareAndSwap(m, n); {
		m = h.max.Load()
	}
}

// bucket returns the count of the bucket that a unit belongs to. It creates the page on
// its first use.
func (h *Histogram) bucket(unit uint64) *atomic.Uint64 {
	number := max(bits.Len64(unit)-pageBits, 0)
	if number > 0 {
		unit = unit>>(number-1) - pageSize
	}
	p := h.pages[number].Load()
	if p == nil {
		h.pages[number].CompareAndSwap(nil, new(page))
		p = h.pages[number].Load()
	}
	return &p[unit]
}

// all yields the first unit, the width and the count of each bucket that is not
// empty, in ascending order.
func (h *Histogram) all(yield func(first, width, count uint64) bool) {
	for number := range h.pages {
		p := h.pages[number].Load()
		if p == nil {
			continue
		}
		first, width := uint64(0), uint64(1)
		if number > 0 {
			first, width = pageSize<<(number-1), 1<<(number-1)
		}
		for cell := range p {
			if n := p[cell].Load(); n > 0 && !yield(first+uint64(cell)*width, width, n) {
				return
			}
		}
	}
}

// Merge adds everything that o has recorded.
func (h *Histogram) Merge(o *Histogram) {
	h.sum.Add(o.sum.Load())
	h.raiseMax(o.max.Load())
	o.all(func(first, _, n uint64) bool { h.bucket(first).Add(n); return true })
}

// Count returns the number of recorded durations.
func (h *Histogram) Count() (total uint64) {
	h.all(func(_, _, n uint64) bool { total += n; return true })
	return total
}

// Max returns the longest recorded duration, which is exact.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max.Load()) }

// Quantile returns a duration that at least the fraction q of all recorded durations,
// from 0 to 1, did not exceed (the nearest rank). It is at most 1/512 too long, and 0
// if nothing was recorded.
func (h *Histogram) Quantile(q float64) time.Duration { return h.quantile(q, h.Count()) }

func (h *Histogram) quantile(q float64, count uint64) time.Duration {
	// The factor keeps a product such as 0.07*100 from being rounded up to the next rank.
	rank := max(uint64(math.Ceil(q*float64(count)*(1-1e-12))), 1)
	var seen, upper uint64
	h.all(func(first, width, n uint64) bool {
		upper = ((first+width)*15625+(1<<14)-1)>>14 - 1
		seen += n
		return seen < rank
	})
	if upper > uint64(longest) {
		return h.Max()
	}
	return min(time.Duration(upper), h.Max())
}

// Milliseconds is a number of recorded durations that rounded down to the same value.
type Milliseconds struct{ Value, Count uint64 }

// Milliseconds returns the recorded durations as whole milliseconds, in ascending order
// of the values. From 1,024 ms on, durations are reported as the middle of their
// bucket, which is off by at most one part in 1,000.
func (h *Histogram) Milliseconds() []Milliseconds {
	var all []Milliseconds
	h.all(func(first, width, n uint64) bool {
		ms := first >> msBits
		if width >>= msBits; width > 1 {
			ms += (width - 1) / 2
		}
		if last := len(all) - 1; last >= 0 && all[last].Value == ms {
			all[last].Count += n
		} else {
			all = append(all, Milliseconds{ms, n})
		}
		return true
	})
	return all
}

// Summary describes the durations that a Histogram or a Timer has recorded.
type Summary struct {
	Count uint64
	Sum   time.Duration
	Max   time.Duration
	// P50, P90 and P99 are durations that half, nine in ten and 99 in 100 did not
	// exceed, at most 1/512 too long.
	P50, P90, P99 time.Duration
}

// Mean returns the average; 0 without durations.
func (s Summary) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Sum / time.Duration(s.Count)
}

// Summary summarises what was recorded. A duration that is being recorded may
// be included in a part of it only.
func (h *Histogram) Summary() Summary {
	n := h.Count()
	return Summary{
		Count: n, Sum: time.Duration(h.sum.Load()), Max: h.Max(),
		P50: h.quantile(0.5, n), P90: h.quantile(0.9, n), P99: h.quantile(0.99, n),
	}
}
