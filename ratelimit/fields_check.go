package ratelimit

import (
	"fmt"
	"math"
	"strings"
)

// checkFields checks the fields of a rule: that their values are valid and go together, and that they have an effect.
func (c *compiler) checkFields(p rulePosition, r *Rule) {
	if r.ShareThreshold && !strings.HasSuffix(r.Value, "*") {
		// The reference service accepts a star anywhere; here it must be
		// last, because the text before it names the counter.
		hint := ""
		if isGlob(r.Value) {
			hint = fmt.Sprintf(": value '%s' must end in '*'", r.Value)
		}
		c.fault(p, "share_threshold", "share_threshold can only be used with wildcard values (containing '*'), but found key '%s'%s",
			joinValue(r.Key, r.Value), hint)
	}
	switch {
	case r.OnStoreFailure == "":
	case !r.OnStoreFailure.Valid():
		c.fault(p, "on_store_failure", "%v", unknownWord("on_store_failure", string(r.OnStoreFailure), failurePolicyNames))
	case r.Limit == nil || r.Limit.Unlimited:
		c.warn(p, "on_store_failure", "on_store_failure has no effect on a rule that counts nothing")
	}
	l := r.Limit
	if l == nil {
		return
	}
	if !l.Algorithm.Valid() {
		c.fault(p, "rate_limit.algorithm", "invalid algorithm %d: use %s", l.Algorithm, algorithmNames)
	}
	if l.Align != "" && l.Align != AlignEpoch && l.Align != AlignCalendar {
		c.fault(p, "rate_limit.align", "%v", unknownWord("align", string(l.Align), alignNames))
	}
	if l.Unlimited {
		c.checkUnlimited(p, r)
	} else {
		c.checkWindow(p, l)
		c.checkAlgorithm(p, l)
	}
	for i, name := range l.Replaces {
		if name == "" {
			c.fault(p, replacesField(i), "should not have an empty replaces entry")
		} else if name == l.Name {
			c.fault(p, replacesField(i), "replaces should not contain name of same descriptor: '%s'", name)
		}
	}
}

// checkUnlimited checks that a limit has no field that is for those that count.
func (c *compiler) checkUnlimited(p rulePosition, r *Rule) {
	if r.Limit.Unit.Valid() {
		c.fault(p, "rate_limit.unit", "should not specify rate limit unit when unlimited")
	}
	for i := range c.rules.fields {
		f := &c.rules.fields[i]
		if f.InLimit && f.Counts && f.Value.Kind != KindUnit && f.Of(r) != nil {
			c.warn(p, "rate_limit."+f.Name, "%s has no effect when unlimited", f.Name)
		}
	}
}

// checkWindow checks the fields that determine windows.
func (c *compiler) checkWindow(p rulePosition, l *Limit) {
	if l.Unit == 0 {
		c.fault(p, "rate_limit.unit", "invalid rate limit unit '': use %s", UnitNames)
	} else if !l.Unit.Valid() {
		c.fault(p, "rate_limit.unit", "invalid rate limit unit '%d': use %s", l.Unit, UnitNames)
	}
	if l.TimeZone != "" && (l.Align == "" || l.Align == AlignEpoch) {
		c.fault(p, "rate_limit.time_zone", "time_zone needs align: calendar, because other windows are aligned to UTC")
	}
	if _, err := l.zone(); err != nil {
		c.fault(p, "rate_limit.time_zone", "%v", err)
	}
	if s := l.Unit.Seconds(); s > 0 && int64(l.UnitMultiplier) > MaxWindow/s {
		c.fault(p, "rate_limit.unit_multiplier", "unit_multiplier %d makes windows longer than ten years: use at most %d", l.UnitMultiplier, MaxWindow/s)
	}
}

// checkAlgorithm checks the fields that belong to an algorithm, if that is valid.
func (c *compiler) checkAlgorithm(p rulePosition, l *Limit) {
	if !l.Algorithm.Valid() {
		return
	}
	if l.Burst != 0 && !l.Algorithm.HasBursts() {
		c.fault(p, "rate_limit.burst", "burst needs algorithm: token_bucket: %s has no bursts", l.Algorithm)
	}
	if l.Align == AlignCalendar && !l.Algorithm.HasWindows() {
		c.fault(p, "rate_limit.align", "align: calendar needs windows, and %s has none", l.Algorithm)
	}
	if l.Lease && !l.Algorithm.Leasable() {
		c.warn(p, "rate_limit.lease", "lease has no effect with algorithm %s: its hits can't be claimed ahead", l.Algorithm)
	}
	c.checkBurst(p, "rate_limit.burst", l, l.RequestsPerUnit)
	c.checkReservations(p, l)
	if l.Candidate != nil {
		c.checkBurst(p, "rate_limit.candidate", l, l.Candidate.RequestsPerUnit)
		if l.Candidate.RequestsPerUnit == l.RequestsPerUnit {
			c.warn(p, "rate_limit.candidate", "candidate has the same requests_per_unit as the limit: %d", l.RequestsPerUnit)
		}
	}
}

// checkReservations checks that a limit can have reservations, if it does.
func (c *compiler) checkReservations(p rulePosition, l *Limit) {
	switch most := maxBurst(l.RequestsPerUnit, l.Unit, l.UnitMultiplier); {
	case !l.Reservations && l.MaxDebt > 0:
		c.fault(p, "rate_limit.max_debt", "max_debt needs reservations: true, because only settlements of reservations make debt")
	case !l.Reservations:
	case l.Algorithm.HasPermits():
		c.fault(p, "rate_limit.reservations", "reservations need a rate: hits in progress are released, not settled")
	case l.Candidate != nil:
		c.fault(p, "rate_limit.candidate", "candidate can't be combined with reservations: remove one of them")
	case int64(l.MaxDebt) > most:
		c.fault(p, "rate_limit.max_debt", "max_debt %d takes more than ten years to pay: use at most %d", l.MaxDebt, most)
	case l.Lease:
		c.warn(p, "rate_limit.lease", "lease has no effect with reservations: their hits can't be claimed ahead")
	}
}

// checkBurst checks that a bucket fills in MaxWindow.
func (c *compiler) checkBurst(p rulePosition, field string, l *Limit, requests uint32) {
	if most := maxBurst(requests, l.Unit, l.UnitMultiplier); l.Algorithm.HasBursts() && int64(l.Burst) > most {
		c.fault(p, field, "burst %d takes more than ten years to fill: use at most %d", l.Burst, most)
	}
}

// maxBurst returns the burst that fills in MaxWindow. There is no bound if the limit is 0 or invalid.
func maxBurst(requests uint32, unit Unit, multiplier uint32) int64 {
	length := unit.Seconds() * int64(max(multiplier, 1))
	if requests == 0 || length == 0 || length > MaxWindow {
		return math.MaxInt64
	}
	return int64(requests) * (MaxWindow / length)
}

func replacesField(i int) string { return fmt.Sprintf("rate_limit.replaces[%d]", i) }
