package ratelimit

// setCandidate compiles the candidate of a limit.
func (l *limit) setCandidate(in *Limit) {
	if in.Candidate == nil {
		return
	}
	l.candidate = new(*in.Candidate)
	candidate := *in
	candidate.RequestsPerUnit = in.Candidate.RequestsPerUnit
	if l.candidateCharge = newChargeLimit(&candidate, l.period); l.candidateCharge == nil {
		return
	}
	for f, name := range l.candidateCharge.name {
		l.candidateCharge.name[f] = name[:1] + "candidate_" + name[1:]
	}
}

// onTrial reports whether there is a candidate. Without statistics it is of no use.
func (c *check) onTrial() bool { return c.rule != nil && c.rule.candidate && c.stats != nil }

// candidateAbove reports whether there is a candidate above the limit.
func (c *check) candidateAbove() bool {
	return c.onTrial() && c.rule.limit.candidate.RequestsPerUnit > c.requests
}

// countCandidate adds to the statistics of the candidate.
func (c *check) countCandidate(w *workspace, counts LimitCounts) {
	c.stats.openCandidate().stripe(w.stripe).add(counts, false)
}

// charges returns the number of charges of a check: the second is that of the candidate.
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
		return c.rule.limit.candidateCharge
	}
	return c.charge
}

// addCandidateCharge lists a charge of the candidate. key is that of the limit.
func (e *Engine) addCandidateCharge(key []byte, c *check, w *workspace) {
	l, start := c.rule.limit.candidateCharge, len(w.keys)
	w.keys = append(w.keys, key[:len(key)-len(c.charge.name[e.keys])]...)
	w.keys = append(w.keys, l.name[e.keys]...)
	w.addCharge(w.keys[start:len(w.keys):len(w.keys)], c, l)
}

// compareCandidateCharge counts the decision of the candidate.
func (e *Engine) compareCandidateCharge(c *check, w *workspace) {
	t, l := &w.charges[c.hit+1], c.rule.limit.candidateCharge
	w.places = w.places || t.holdsPlaces()
	r := t.report()
	c.countCandidate(w, l.counts(t, c.hits, r.remaining, e.ratio))
}

// Candidate returns the counters of the candidate ([Limit.Candidate]), nil if the limit had
// none since the start. Of its LimitCounts, WithinLimit, NearLimit and OverLimit are used.
func (s *LimitStats) Candidate() *LimitStats { return s.candidate.Load() }

// openCandidate returns them, and creates them before the first use.
func (s *LimitStats) openCandidate() *LimitStats {
	c := s.candidate.Load()
	if c == nil {
		s.candidate.CompareAndSwap(nil, NewLimitStats())
		c = s.candidate.Load()
	}
	return c
}
