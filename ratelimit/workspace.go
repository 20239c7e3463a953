package ratelimit

// workspace is what a decision is worked out in. It lives in the Decision, so
// that a caller who reuses that reuses all memory.
type workspace struct {
	checks    []check
	hits      [2][]Hit // for the main and the per-second store
	failed    [2]bool  // which of them did not count its hits
	local     []Hit    // for the fallback store
	keys      []byte   // all counter keys, one after the other
	text      []byte   // scratch for statistics keys and patterns
	names     []uint64 // bit set of the names replaced in this request
	lane      uint32   // which lane of the statistics to count in
	hasLane   bool
	anyCached bool
}

// check is one descriptor on its way through a decision.
type check struct {
	hits     uint64
	override *Override   // the limit that came along, if it is to apply
	rule     *node       // with a limit; nil if none applies
	stats    *LimitStats // nil without statistics

	// What to hold the descriptor to, wherever it comes from, if it is live.
	requests uint32
	unit     Unit
	live     bool

	cached  bool    // the over-limit cache answers for the store
	failure failure // what stands in for the store, which has failed
	store   int8    // which of workspace.hits
	hit     int     // index there
}

const (
	mainStore = 0
	perSecond = 1
	// What a huge request made grow is not kept for the small ones that follow.
	keepBytes  = 64 << 10
	keepChecks = 1 << 10
)

// reset empties d for a decision on n descriptors.
func (d *Decision) reset(e *Engine, n int) {
	w := &d.work
	if cap(w.keys) > keepBytes || cap(w.text) > keepBytes || cap(w.checks) > keepChecks {
		*w = workspace{lane: w.lane, hasLane: w.hasLane}
		d.Statuses = nil
	}
	if !w.hasLane {
		// Neighbouring numbers for decisions made one after the other: the goroutines
		// that own them are likely to run side by side.
		w.lane, w.hasLane = e.lanes.Add(1), true
	}
	d.Code, d.Metadata = Unknown, nil
	// What is in them from the last decision is written over by this one.
	d.Statuses, w.checks = sized(d.Statuses, n), sized(w.checks, n)
	w.hits[mainStore], w.hits[perSecond] = w.hits[mainStore][:0], w.hits[perSecond][:0]
	w.keys = w.keys[:0]
	w.anyCached = false
	w.failed = [2]bool{}
}

// sized returns a slice of n elements, in s's memory if it has room.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
