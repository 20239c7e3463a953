package ratelimit

// countCandidate adds to the statistics of the candidate.
func (c *check) countCandidate(w *workspace, counts LimitCounts) {
	c.stats.openCandidate().stripe(w.stripe).add(counts, false)
}

// addCandidateCharge lists a charge of the candidate. key is that of the limit.
func (e *Engine) addCandidateCharge(key []byte, c *check, w *workspace) {
	l, start := c.rule.limit.candidate, len(w.keys)
	w.keys = append(w.keys, key[:len(key)-len(c.charge.name[e.keys])]...)
	w.keys = append(w.keys, l.name[e.keys]...)
	w.addCharge(w.keys[start:len(w.keys):len(w.keys)], c, l)
}

// compareCandidateCharge counts the decision of the candidate.
func (e *Engine) compareCandidateCharge(c *check, w *workspace) {
	t, l := &w.charges[c.hit+1], c.rule.limit.candidate
	w.permits = w.permits || t.holdsPermits()
	r := t.report()
	c.countCandidate(w, l.counts(t, c.hits, r.remaining, e.ratio))
}
