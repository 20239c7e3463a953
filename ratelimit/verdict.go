package ratelimit

// The arithmetic of the statistics (reference 1.4). Dashboards compare them with
// those of the reference service, so they must come out the same to the last hit.

// nearLimit is the count above which hits are near the limit. The product is one
// of 32-bit floats, rounded down, as the reference service computes it.
func nearLimit(limit uint32, ratio float32) uint64 {
	near := float32(limit) * ratio
	// Rounding can lift it above the limit, and so can a ratio above one; then no
	// hit is near without being over.
	if !(near < float32(limit)) {
		return uint64(limit)
	}
	return uint64(near)
}

// countsOf says what became of hits: after is the counter's value with them, or,
// where they were held back, without. TotalHits is left to the caller.
func countsOf(limit uint32, ratio float32, hits, after uint64) LimitCounts {
	most, near, before := uint64(limit), nearLimit(limit, ratio), after-hits
	switch {
	case after <= near:
		return LimitCounts{WithinLimit: hits}
	case after <= most && before >= near:
		return LimitCounts{WithinLimit: hits, NearLimit: hits}
	case after <= most:
		return LimitCounts{WithinLimit: hits, NearLimit: after - near}
	case before >= most:
		return LimitCounts{OverLimit: hits}
	}
	return LimitCounts{OverLimit: after - most, NearLimit: most - max(near, before)}
}

// cachedCounts is for hits on a counter that the over-limit cache remembers.
func cachedCounts(hits uint64) LimitCounts {
	return LimitCounts{OverLimit: hits, OverLimitWithLocalCache: hits}
}
