package ratelimit

// verdict is what a count means for one descriptor (reference 1.4).
type verdict struct {
	code      Code
	remaining uint32
	counts    LimitCounts // but for TotalHits
}

// nearLimit is the count above which hits are near the limit. The product is one
// of 32-bit floats, rounded down: statistics are compared with those of the
// reference service, which computes it so.
func nearLimit(limit uint32, ratio float32) uint64 {
	near := float32(limit) * ratio
	// Rounding can lift it above the limit, and so can a ratio above one; then no
	// hit is near without being over.
	if !(near < float32(limit)) {
		return uint64(limit)
	}
	return uint64(near)
}

// judge weighs a count: hits were asked for, and after is the counter's value with
// them, or, where they were held back, without.
func judge(limit uint32, ratio float32, hits, after uint64, shadow bool) verdict {
	most, near, before := uint64(limit), nearLimit(limit, ratio), after-hits
	if after <= most {
		v := verdict{code: OK, remaining: uint32(most - after)}
		v.counts.WithinLimit = hits
		switch {
		case after <= near:
		case before >= near:
			v.counts.NearLimit = hits
		default:
			v.counts.NearLimit = after - near
		}
		return v
	}
	v := verdict{code: OverLimit}
	if before >= most {
		v.counts.OverLimit = hits
	} else {
		v.counts.OverLimit = after - most
		v.counts.NearLimit = most - max(near, before)
	}
	v.inShadow(shadow)
	return v
}

// judgeCached is the verdict on a counter that the over-limit cache remembers.
func judgeCached(hits uint64, shadow bool) verdict {
	v := verdict{code: OverLimit}
	v.counts.OverLimit = hits
	v.counts.OverLimitWithLocalCache = hits
	v.inShadow(shadow)
	return v
}

func (v *verdict) inShadow(shadow bool) {
	if shadow {
		v.code = OK
		v.counts.ShadowMode = v.counts.OverLimit
	}
}
