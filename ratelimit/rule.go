package ratelimit

import (
	"math"
	"slices"
	"time"
)

// Domain is a named container of rules: the content of one configuration document or of
// one resource of a configuration server. It is plain data; [Compile] validates it.
type Domain struct {
	Name  string // required, unique unless domains are merged
	Rules []Rule // the top level
}

// Rule is one entry of the tree that request descriptors are matched against,
// level by level (REFERENCE.md, 2).
//
// A rule with neither a Limit nor Rules lets what it matches pass unlimited and
// uncounted: it is whitelisted.
type Rule struct {
	// Key is matched whole and case-sensitively. Required.
	//
	// A Key that holds a "*" is a pattern as well; it is matched against the
	// entry's key, an underscore and its value.
	Key string
	// Value narrows the match. Empty matches every value of Key. A "*" in it
	// stands for zero or more bytes, at any position and any number of times.
	Value string
	// Limit applies to descriptors whose last entry matches; nil for none.
	Limit *Limit
	// Rules is the next level.
	Rules []Rule

	// ShadowMode lets everything pass and counts as usual.
	ShadowMode bool
	// QuotaMode makes the descriptors of a request that match such rules be over
	// limit only together: the request is over when all of them are.
	QuotaMode bool
	// DetailedMetric puts the values of the request into the statistics key of a
	// leaf, at every level. It wins over ValueToMetric.
	DetailedMetric bool
	// ValueToMetric puts the value of the request into this level's part of the
	// statistics key where Value is empty or a wildcard.
	ValueToMetric bool
	// ShareThreshold makes all values that match one wildcard share one counter.
	// Value must then end in "*".
	ShareThreshold bool
	// OnStoreFailure applies to a descriptor held to Limit whose store failed. Default, when
	// empty: that of the engine's Options.
	OnStoreFailure FailurePolicy
	// Metadata is returned in [Decision.Metadata] when a descriptor passes this
	// rule. Values are those of JSON: nil, bool, float64 or int, string,
	// []any and map[string]any.
	Metadata map[string]any
}

// alone returns a copy without the nested rules that shares only Metadata.
func (r *Rule) alone() Rule {
	c := *r
	c.Rules = nil
	if c.Limit != nil {
		c.Limit = new(*c.Limit)
		c.Limit.Replaces = slices.Clone(c.Limit.Replaces)
		if c.Limit.Candidate != nil {
			c.Limit.Candidate = new(*c.Limit.Candidate)
		}
	}
	return c
}

// Limit is the limit of a rule.
type Limit struct {
	// RequestsPerUnit bounds the hits of one window, or with Concurrency those that are in progress at the same
	// time. 0 refuses every hit.
	RequestsPerUnit uint32
	// Unit is the window's length, or with Concurrency the minimum time after which a permit expires
	// if it is not released. Required unless Unlimited.
	Unit Unit
	// Algorithm determines how hits are counted. The zero Algorithm is FixedWindow.
	Algorithm Algorithm
	// Burst bounds the hits of a TokenBucket that pass at once. 0 means RequestsPerUnit.
	Burst uint32
	// UnitMultiplier makes a window that many units long, up to MaxWindow: 15 minutes, say.
	// 0 means 1.
	UnitMultiplier uint32
	// Align determines where windows begin. Default, when empty: AlignEpoch.
	Align Align
	// TimeZone is that of AlignCalendar: a name of the time zone database, such as
	// Europe/Vienna. Default, when empty: UTC.
	TimeZone string
	// Candidate, if not nil, is decided and counted beside this limit and never enforced.
	Candidate *Candidate
	// Lease lets an instance claim hits of a FixedWindow or TokenBucket ahead and decide in memory, if the
	// store was wrapped by package leasestore. It has no effect otherwise.
	Lease bool
	// Reservations lets hits be reserved by an estimate and settled later: see [Limiter.Reserve]. All hits of the limit are
	// then kept in a [LedgerStore], where they are neither leased nor counted together with those of other programs.
	Reservations bool
	// MaxDebt bounds the hits above the limit that settlements may charge, and that later windows pay. 0 means
	// RequestsPerUnit.
	MaxDebt uint32
	// Unlimited lets everything pass without calling the counter store. It excludes
	// Unit, RequestsPerUnit and what belongs to them.
	Unlimited bool
	// Name lets other rules replace this one, and is reported in Status.Name.
	Name string
	// Replaces names the limits that do not apply when this rule matches in the same
	// request.
	Replaces []string
}

// Candidate is a second limit that is counted and not enforced: it shows what a rule would refuse with another
// RequestsPerUnit. Its
// hits are in [LimitStats.Candidate]. Everything else is as in the rule's Limit, the Burst of a
// TokenBucket included if it is set.
//
// With a FixedWindow the candidate is compared with the rule's own counter, and nothing else is
// counted. A candidate above the limit keeps the counters of its rule out of
// Options.OverLimitCache, because the hits that this answers are not counted. With another
// Algorithm the candidate has a state of its own in the store, charged in the same call; under
// Concurrency a hit that the limit refuses holds no permit of the candidate either.
type Candidate struct {
	// RequestsPerUnit is that of the candidate. 0 would refuse every hit.
	RequestsPerUnit uint32
}

// Per returns a limit of n hits in each window, whose length is a unit or a duration of whole seconds:
// Per(5, Minute) or Per(5, 15*time.Minute). With another duration, or one of zero or less, the limit has no Unit and
// is invalid.
func Per[T Unit | time.Duration](n uint32, window T) Limit {
	length, isDuration := any(window).(time.Duration)
	if !isDuration {
		return Limit{RequestsPerUnit: n, Unit: any(window).(Unit)}
	}
	for _, unit := range []Unit{Day, Hour, Minute, Second} {
		of := time.Duration(unit.Seconds()) * time.Second
		switch multiplier := length / of; {
		case length <= 0 || length%of != 0:
		case multiplier == 1:
			return Limit{RequestsPerUnit: n, Unit: unit}
		default:
			return Limit{RequestsPerUnit: n, Unit: unit, UnitMultiplier: uint32(min(multiplier, math.MaxUint32))}
		}
	}
	return Limit{RequestsPerUnit: n}
}

// FailurePolicy decides a descriptor whose store failed. The empty policy stands for
// Options.OnStoreFailure.
type FailurePolicy string

// The policies.
const (
	// FailError fails the whole call with a StoreFailure (REFERENCE.md, 6.3). One descriptor with this policy is enough.
	FailError FailurePolicy = "error"
	// FailAllow lets the descriptor pass uncounted.
	FailAllow FailurePolicy = "allow"
	// FailDeny treats the descriptor as over its limit; shadow mode applies.
	FailDeny FailurePolicy = "deny"
	// FailLocal counts the descriptor in Options.Fallback, at its full limit. Each instance
	// counts by itself, so all of them together may let more pass.
	FailLocal FailurePolicy = "local"
)

// failurePolicyNames lists the policies, for error messages.
const failurePolicyNames = "error, allow, deny or local"

// Valid reports whether p is one of the constants.
func (p FailurePolicy) Valid() bool {
	return p == FailError || p == FailAllow || p == FailDeny || p == FailLocal
}
