package ratelimit

// workspace is the memory that a decision needs. It is a part of the Decision, so that a
// caller who reuses that reuses all memory.
type workspace struct {
	checks    []check
	hits      [4][]Hit // to add and to subtract, in the main and the per-second store
	charges   []Charge // from the main store
	failed    [5]bool  // which of these five lists was not counted
	released  []Charge // scratch for Release
	now       int64    // of the charges, in Unix microseconds
	ahead     int64    // by how much that is ahead of the clock: see maxAhead
	ttl       int64    // of reservations, in microseconds; 0 for hits that are not reserved
	engine    *Engine
	first     int             // the index of the first limit of the domain in Ruleset.limits
	permits   bool            // permits are held under limits of Concurrency, for Release
	keys      []byte          // all counter keys, one after the other
	text      []byte          // scratch for statistics keys and patterns
	replaced  map[string]bool // the names replaced in this request
	stripe    uint32          // index of the stripe of the statistics
	draw      uint32          // random, for topKeys
	hasStripe bool
	anyCached bool
	recheck   bool // some that are cached are to be read
	listed    bool // whether there may be hits, charges or permits
}

// check is the state of one descriptor during a decision.
type check struct {
	hits     uint64
	refund   bool        // subtracts the hits
	claim    bool        // counts in no statistics
	override *Override   // the limit that came along, if it is to apply
	rule     *node       // with a limit; nil if none applies
	stats    *LimitStats // nil without statistics

	// The limit, wherever it comes from. live reports whether there is one to count.
	requests uint32
	unit     Unit
	live     bool
	window   *span   // that the hits belong to
	period   *period // nil for windows of a unit

	cached  bool          // known by the over-limit cache
	recheck bool          // cached, but to be read
	failure FailurePolicy // the policy that decides because the store failed
	store   int8          // index in workspace.hits, or charging
	hit     int           // index there
	charge  *chargeLimit  // nil for a FixedWindow without reservations
	settled *settled      // the reservation that is settled; nil otherwise
}

const (
	mainStore = 0
	perSecond = 1
	refunds   = 2 // with mainStore or perSecond: hits to subtract
	charging  = 4
	// Memory beyond these that a huge request needed is released.
	keepBytes  = 64 << 10
	keepChecks = 1 << 10
)

// reset empties d for a decision on n descriptors.
func (d *Decision) reset(e *Engine, n int) {
	w := &d.work
	if cap(w.keys) > keepBytes || cap(w.text) > keepBytes || cap(w.checks) > keepChecks {
		*w = workspace{stripe: w.stripe, draw: w.draw, hasStripe: w.hasStripe}
		d.Statuses = nil
	}
	if !w.hasStripe {
		// Neighbouring numbers for decisions made one after the other: the goroutines
		// that own them are likely to run side by side.
		w.stripe, w.hasStripe = e.stripes.Add(1), true
		w.draw = w.stripe * 2654435769
	}
	d.Code, w.first = Unknown, 0
	if d.Metadata != nil {
		d.Metadata = nil
	}
	// Old contents are overwritten.
	if len(d.Statuses) != n || len(w.checks) != n {
		d.Statuses, w.checks = sized(d.Statuses, n), sized(w.checks, n)
	}
	w.keys = w.keys[:0]
	w.hits[mainStore] = w.hits[mainStore][:0]
	w.charges, w.permits = w.charges[:0], false
	if w.engine != e {
		w.engine = e
	}
	if w.listed {
		w.empty()
	}
}

// empty removes all hits, and what is known about them.
func (w *workspace) empty() {
	w.listed, w.permits, w.anyCached, w.recheck = false, false, false, false
	for i := range w.hits {
		w.hits[i] = w.hits[i][:0]
	}
	w.charges = w.charges[:0]
	w.failed = [len(w.failed)]bool{}
}

// sized returns a slice of n elements, in the memory of s if it has the capacity.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// len returns the length of a list.
func (w *workspace) len(list int) int {
	if list == charging {
		return len(w.charges)
	}
	return len(w.hits[list])
}

// note records whether a store failed.
func (w *workspace) note(store int, err error) error {
	w.failed[store] = err != nil
	return err
}

// flags returns Hit.Fixed and Hit.Lease.
func (c *check) flags() (fixed, lease bool) {
	if c.rule != nil {
		return c.rule.fixed, c.rule.lease
	}
	return false, c.override.Lease
}

// charges returns how many charges a check has: the second is that of the candidate.
func (c *check) charges() int {
	switch {
	case c.charge == nil:
		return 0
	case c.onTrial():
		return 2
	}
	return 1
}

// chargeLimit returns the limit of one of the charges.
func (c *check) chargeLimit(i int) *chargeLimit {
	if i == 1 {
		return c.rule.limit.candidate
	}
	return c.charge
}

// next appends an element with old contents, which are to be overwritten.
func next[T any](list *[]T) *T {
	n := len(*list)
	if n == cap(*list) {
		*list = append(*list, *new(T))
	}
	*list = (*list)[:n+1]
	return &(*list)[n]
}

// onTrial reports whether there is a candidate. Without statistics it is of no use.
func (c *check) onTrial() bool { return c.rule != nil && c.rule.candidate && c.stats != nil }

// candidateAbove reports whether there is a candidate above the limit.
func (c *check) candidateAbove() bool {
	return c.onTrial() && c.rule.limit.rule.Limit.Candidate.RequestsPerUnit > c.requests
}
