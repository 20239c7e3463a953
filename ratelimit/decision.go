package ratelimit

import (
	"math"
	"time"
)

// Code is the verdict on a request or on one of its descriptors.
type Code uint8

// The verdicts, numbered as in the v3 rate limit service protocol.
const (
	Unknown   Code = 0 // no decision yet
	OK        Code = 1 // go ahead
	OverLimit Code = 2 // one too many
)

// String is the protocol's name of the code.
func (c Code) String() string {
	switch c {
	case OK:
		return "OK"
	case OverLimit:
		return "OVER_LIMIT"
	}
	return "UNKNOWN"
}

// UnlimitedRemaining is what a descriptor that meets an unlimited rule has left.
const UnlimitedRemaining = math.MaxUint32

// Decision is the answer to a Request. A caller may hand the same Decision to
// one call of Decide after another, and then decisions cost no allocation;
// what it holds is good until the next call. The zero value is ready to use.
// A Decision must not be used by two goroutines at once.
type Decision struct {
	// Code is OverLimit if the request as a whole is to be refused.
	Code Code
	// Statuses holds one status per descriptor, in the request's order.
	Statuses []Status
	// Metadata is what the rules that were passed say about themselves, merged:
	// the first value of a key wins, maps are merged. It is filled only if
	// Options.Metadata is set, and nil if no passed rule has any.
	// The maps belong to the rules: do not change them.
	Metadata map[string]any

	work workspace
}

// Status is the answer for one descriptor.
type Status struct {
	// Code is this descriptor's own verdict. Global shadow mode and quota mode
	// change the Decision's code and leave this one as it is.
	Code Code
	// Limited reports whether a limit was applied. Without one (no rule matched,
	// or it was whitelisted, replaced or unlimited) the fields below but Quota and
	// Remaining are zero.
	Limited bool
	// Quota reports that the descriptor only counts together with the other
	// quota descriptors of the request. With Options.QuotaMode that is so for
	// descriptors without a limit as well, but for those of unlimited rules.
	Quota bool
	// RequestsPerUnit, Unit and Name are the limit that was applied.
	RequestsPerUnit uint32
	Unit            Unit
	Name            string
	// Remaining is how many hits the window has left: 0 when over the limit or
	// where no limit was applied, UnlimitedRemaining for an unlimited rule.
	Remaining uint32
	// ResetSeconds is the time until the window ends, 1 to Unit.Seconds().
	ResetSeconds uint32
}

// Reset is the time until the window ends: whole seconds, at least one where
// a limit was applied, 0 where none was.
func (s *Status) Reset() time.Duration { return time.Duration(s.ResetSeconds) * time.Second }

// Tightest is the status that a caller should be told about: the last one over
// limit that is not a quota descriptor's, or else the limited one with the least
// left, the first of equals. It is nil if no limit was applied (reference 1.11).
func (d *Decision) Tightest() *Status {
	var tightest *Status
	least := uint32(0)
	for i := range d.Statuses {
		s := &d.Statuses[i]
		if !s.Limited {
			continue
		}
		if s.Code == OverLimit && !s.Quota {
			tightest, least = s, 0
		} else if tightest == nil || s.Remaining < least {
			tightest, least = s, s.Remaining
		}
	}
	return tightest
}

// Allowed reports whether the code is OK.
func (s *Status) Allowed() bool { return s.Code == OK }
