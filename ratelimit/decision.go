package ratelimit

import (
	"cmp"
	"math"
	"time"
)

// Request is the input of one decision. The engine keeps no reference to it.
type Request struct {
	Domain      string       // whose rules apply; required
	Descriptors []Descriptor // at least one
	// HitsAddend is the number of hits of each descriptor without one of its own. 0
	// means 1.
	HitsAddend uint32
}

// Descriptor is a list of key/value pairs. It is held to the limit of the rule that
// its entries lead to, if the last entry matches a rule with a limit.
type Descriptor struct {
	Entries []Entry
	// Limit replaces the rules; nil leaves the decision to them. It takes effect only
	// in a configured domain.
	Limit *Override
	// HitsAddend is the number of hits of this descriptor; nil means that of the
	// request. 0 reads the counter without counting.
	HitsAddend *uint64
	// Refund subtracts the hits instead of counting them, never below zero: hits that were not
	// used, or permits of a limit of Concurrency. The descriptor is never over its limit.
	Refund bool
	// Claim takes the hits for clients who decide by themselves. They are not counted in statistics and TopKeys:
	// [Engine.Record] counts what clients report.
	Claim bool
}

// Entry is one key/value pair.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Override is a limit that comes with the request.
type Override struct {
	RequestsPerUnit uint32
	Unit            Unit
	// UnitMultiplier makes a window that many units long, up to MaxWindow. 0 means 1.
	UnitMultiplier uint32
	// Algorithm, Burst and Lease are those of a [Limit]. The store must hold the Algorithm.
	Algorithm Algorithm
	Burst     uint32
	Lease     bool
}

// Code is the verdict on a request or on one of its descriptors.
type Code uint8

// The verdicts, numbered as in the v3 rate limit service protocol.
const (
	Unknown   Code = 0 // no decision yet
	OK        Code = 1
	OverLimit Code = 2
)

// String returns the protocol's name of the code.
func (c Code) String() string {
	switch c {
	case OK:
		return "OK"
	case OverLimit:
		return "OVER_LIMIT"
	}
	return "UNKNOWN"
}

// UnlimitedRemaining is the Remaining of a descriptor that matches an unlimited rule.
const UnlimitedRemaining = math.MaxUint32

// Decision is the result of a Request. The zero value is ready for use. A caller may
// pass the same Decision to DecideInto again and again, so that decisions allocate
// nothing; its contents are valid until the next call. It must not be used
// concurrently.
type Decision struct {
	// Code is OverLimit if the request as a whole is to be rejected.
	Code Code
	// Statuses holds one status per descriptor, in the request's order.
	Statuses []Status
	// Metadata merges the metadata of the rules whose descriptors passed: the first
	// value of a key wins, nested maps are merged. It is nil without Options.Metadata.
	// Its maps belong to the rules and must not be modified.
	Metadata map[string]any

	work workspace
}

// Status is the result for one descriptor.
type Status struct {
	// Code is the descriptor's own verdict. Global shadow mode and quota mode change
	// the Decision's Code but not this one.
	Code Code
	// Limited reports whether a limit was applied. If not (no rule matched, or it was
	// whitelisted, replaced or unlimited), all fields below but Quota and Remaining are
	// zero.
	Limited bool
	// Quota reports that the descriptor rejects a request only together with all other
	// quota descriptors. Options.QuotaMode sets it for descriptors without a limit too,
	// but not for those of unlimited rules.
	Quota bool
	// Unit, RequestsPerUnit, UnitMultiplier, Algorithm and Name describe the limit that was
	// applied. The multiplier is 0 for windows of one unit.
	Unit            Unit
	RequestsPerUnit uint32
	UnitMultiplier  uint32
	Algorithm       Algorithm
	Name            string
	// Remaining is the number of hits that would pass now: 0 when over the limit or where
	// no limit was applied, UnlimitedRemaining for an unlimited rule.
	Remaining uint32
	// ResetSeconds is the time until the window ends, from 1 to the window's length. With another
	// Algorithm than FixedWindow it is the time, rounded up, until as many hits would pass as
	// on a new key: 0 if they would now.
	ResetSeconds uint32
	// RetrySeconds is the time, rounded up, until the hits that were over the limit would pass if
	// no others came. 0 with a FixedWindow: then it is ResetSeconds. Both are 1 or 2, at random, after
	// FailDeny has decided.
	RetrySeconds uint32
	// early is by how many microseconds RetryAfter is less than these seconds.
	early uint32
}

// Allowed reports whether the code is OK.
func (s *Status) Allowed() bool { return s.Code == OK }

// Reset returns ResetSeconds as a duration.
func (s *Status) Reset() time.Duration { return time.Duration(s.ResetSeconds) * time.Second }

// Tightest returns the status to report to a client: the last one over its limit that
// is not in quota mode, else the limited one with the smallest Remaining, the first of
// equals. It returns nil if no limit was applied.
func (d *Decision) Tightest() *Status {
	var tightest *Status
	least := uint32(0)
	for i := range d.Statuses {
		s := &d.Statuses[i]
		switch {
		case !s.Limited:
		case s.Code == OverLimit && !s.Quota:
			tightest, least = s, 0
		case tightest == nil || s.Remaining < least:
			tightest, least = s, s.Remaining
		}
	}
	return tightest
}

// RetryAfter returns how long a hit that is over its limit has to wait, to the microsecond. Rounded up
// it is RetrySeconds, or ResetSeconds where that is 0.
func (s *Status) RetryAfter() time.Duration {
	return time.Duration(cmp.Or(s.RetrySeconds, s.ResetSeconds))*time.Second - time.Duration(s.early)*time.Microsecond
}

// RetryAfter returns how long a rejected request has to wait until none of its limits
// rejects it: the longest time of those that are over, where the descriptors in
// quota mode, which reject only together, count with their shortest. It is 0 if the
// request was not rejected.
func (d *Decision) RetryAfter() time.Duration {
	if d.Code != OverLimit {
		return 0
	}
	const none = math.MaxInt64
	wait, quota := time.Duration(0), time.Duration(none)
	for i := range d.Statuses {
		s := &d.Statuses[i]
		switch {
		case s.Quota && s.Code == OverLimit:
			quota = min(quota, s.RetryAfter())
		case s.Quota:
			quota = 0 // not all of them are over, so they do not reject
		case s.Code == OverLimit:
			wait = max(wait, s.RetryAfter())
		}
	}
	if quota != none {
		wait = max(wait, quota)
	}
	return wait
}

// HeaderNames are the names of the headers that report a limit. An empty name stands
// for RateLimit-Limit, RateLimit-Remaining or RateLimit-Reset.
type HeaderNames struct{ Limit, Remaining, Reset string }

// HeaderField is a header whose value is written in decimal.
type HeaderField struct {
	Name  string
	Value uint64
}

// Fields returns the headers for a status: the hits that a window holds, those that
// are left, and the seconds until the window ends.
func (n *HeaderNames) Fields(s *Status) [3]HeaderField {
	return [3]HeaderField{
		{cmp.Or(n.Limit, "RateLimit-Limit"), uint64(s.RequestsPerUnit)},
		{cmp.Or(n.Remaining, "RateLimit-Remaining"), uint64(s.Remaining)},
		{cmp.Or(n.Reset, "RateLimit-Reset"), uint64(s.ResetSeconds)},
	}
}

// Charge returns the charge of descriptor i of the last request as the store decided it, nil if the
// limit is a FixedWindow or nothing was charged. It is valid until the next call of DecideInto.
func (d *Decision) Charge(i int) *Charge {
	c := &d.work.checks[i]
	if !c.live || c.charge == nil {
		return nil
	}
	return &d.work.charges[c.hit]
}

// Applied returns what descriptor i of the last request was held to: the index of the rule's limit
// in [Ruleset.Limits], and the hit as the store counted it. The index is -1 if no rule applied or
// the limit came with the request; the hit is nil if nothing was counted, and for another Algorithm
// than FixedWindow: see [Decision.Charge]. Both are valid until the
// next call of DecideInto.
func (d *Decision) Applied(i int) (limit int, hit *Hit) {
	c := &d.work.checks[i]
	limit = -1
	if c.rule != nil {
		limit = d.work.first + int(c.rule.id)
	}
	if c.live && !c.cached && c.charge == nil {
		hit = &d.work.hits[c.store][c.hit]
	}
	return limit, hit
}
