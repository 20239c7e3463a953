package ratelimit

// Internals for the tests of package ratelimit_test.

// GlobMatch reports whether the pattern matches s.
func GlobMatch(pattern, s string) bool {
	g := parseGlob(pattern)
	return g.match(s)
}

// GlobCovers reports whether the first of two wildcards matches everything that the second does.
func GlobCovers(a, b string) bool {
	g, h := parseGlob(a), parseGlob(b)
	return g.covers(&h)
}

// GlobOverlaps reports whether some string matches both patterns.
func GlobOverlaps(a, b string) bool {
	g, h := parseGlob(a), parseGlob(b)
	return g.overlaps(&h)
}

// GlobIndex is an index over patterns.
type GlobIndex struct{ x *globIndex }

// NewGlobIndex indexes the patterns.
func NewGlobIndex(patterns []string) GlobIndex {
	globs := make([]globRule, len(patterns))
	for i, p := range patterns {
		globs[i] = globRule{glob: parseGlob(p), order: int32(i)}
	}
	return GlobIndex{newGlobIndex(globs)}
}

// First returns the index of the first pattern that matches s, -1 for none.
func (x GlobIndex) First(s string) int {
	if g := x.x.first(s); g != nil {
		return int(g.order)
	}
	return -1
}

// SanitiseMetric returns the sanitised statistics key.
func SanitiseMetric(s string) string {
	b := []byte(s)
	sanitiseMetric(b)
	return string(b)
}

// MaxStatsName is the longest name, in bytes, with counters of its own.
const MaxStatsName = maxStatsName

// Report returns the report to clients after a charge: the hits that would pass now, and the
// microseconds until as many pass as at first and until those that did not pass would.
func Report(t *Charge) (remaining, reset, retry int64) {
	r := t.Algorithm.value().report(t)
	return r.remaining, r.reset, r.retry
}
