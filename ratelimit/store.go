package ratelimit

import (
	"context"
	"time"
)

// Store holds counters. Package storetest tests its contract. Implementations must be
// safe for concurrent use.
type Store interface {
	// Add adds each hit's N to the counter named by its Key, in order, and stores
	// the counter's value after that in its Count. A Key that comes twice is added
	// to twice. N = 0 reads and changes nothing; a counter that does not exist
	// reads 0.
	//
	// Additions are atomic per key: of all calls that add to one counter each gets
	// a Count of its own. A counter that would pass the largest count the store can
	// hold, 1<<62 or more, stays there.
	// A counter that is at or over some limit is a count, never an error.
	//
	// An error means that the counts are not to be used. Some additions may
	// already have been applied. A key that the store can't hold is an *Error of kind
	// Invalid: the request's fault, not the store's.
	//
	// The hits, their keys included, belong to the caller and may be overwritten
	// as soon as Add returns: what a Store keeps it must copy.
	Add(ctx context.Context, hits []Hit) error
}

// ConditionalStore is a Store that can decide for all hits of a request at once whether
// they are added. An Engine with Options.StopIncrementWhenOverLimit reads first and adds
// then, which is not atomic, if its store does not implement ConditionalStore, or returns
// errors.ErrUnsupported.
type ConditionalStore interface {
	Store
	// AddUnlessOver compares for each hit the counter's value plus N with Limit.
	// If none is greater, all hits are added as by Add. Otherwise only the hits
	// that are greater are added, and the others are read. In both cases Count is
	// the counter's value after that. The comparison and the additions are one
	// atomic step. A Store that can't do that on its server, and a wrapper around
	// a Store that can't, counts nothing and returns errors.ErrUnsupported.
	AddUnlessOver(ctx context.Context, hits []Hit) error
}

// SubtractStore is a Store that can subtract hits, for [Limiter.Refund] and
// [Limiter.Reset].
type SubtractStore interface {
	Store
	// Subtract subtracts each hit's N from the counter named by its Key, which stops
	// at zero, and stores the counter's value after that in its Count. A counter that
	// does not exist reads 0 and is not created. Subtractions are atomic per key. A
	// wrapper around a Store that can't subtract returns errors.ErrUnsupported.
	Subtract(ctx context.Context, hits []Hit) error
}

// ClockStore is a Store with a clock that all who share the counters have in common. An Engine without
// [Options.Now] reads it, once a second, instead of the system's.
type ClockStore interface {
	Store
	// Now returns the time. It does not wait for a server.
	Now() time.Time
}

// Hit is a request to a Store to count N hits on the counter Key in one window.
type Hit struct {
	// Key names the counter. It ends in the start of the window, so a counter is
	// never used again once its window has passed. With KeyReference it does not hold the
	// unit: a Store may or may not keep apart hits of one Key whose windows end at
	// different times, as when a limit's unit is changed at the full hour.
	Key []byte
	// N is the number of hits to add; 0 reads.
	N uint64
	// Limit is the largest count that is not over the limit.
	Limit uint32
	// Unit is the length of the window, unless Length is set, and Window its start in Unix
	// seconds.
	Unit Unit
	// Length is the length of a window that is not one of a Unit, in seconds, up to MaxWindow; 0
	// otherwise. Windows of one rule may differ in length, as days do where clocks change.
	Length uint32
	// Fixed reports that the counter belongs to a rule without placeholders for values of
	// the request, so that clients can't make up such counters. A Store with bounded memory
	// may reserve room for them.
	Fixed bool
	// Lease reports that a Store may claim hits of the window ahead: see Limit.Lease.
	Lease bool
	// Claim reports that the hits are for clients who decide by themselves ([Descriptor.Claim]): a Store claims none ahead.
	Claim  bool
	Window int64
	// Jitter is by how many seconds the counter may outlive its window, so that
	// not all counters of a window expire in the same instant.
	Jitter uint32

	// Count is set by the Store: the counter's value after N was added.
	Count uint64
}

// End returns the end of the hit's window, in Unix seconds.
func (h *Hit) End() int64 { return h.Window + h.seconds() }

// seconds returns the length of the window.
func (h *Hit) seconds() int64 {
	if h.Length > 0 {
		return int64(h.Length)
	}
	return h.Unit.Seconds()
}

// TTL returns for how long a store that expires counters after their last change should
// keep this one: the window's length and the jitter (REFERENCE.md, 3.1 to 3.3).
func (h *Hit) TTL() time.Duration {
	return time.Duration(h.seconds()+int64(h.Jitter)) * time.Second
}

// OverLimitCache remembers counters that are over their limit, so that the store is not
// called for them again in the same window (REFERENCE.md, 3.5). It is for stores behind a
// network, and may forget at any time. Implementations must be safe for concurrent use and
// copy the keys that they retain.
type OverLimitCache interface {
	// Contains reports whether the counter is known to be over its limit, and whether it is time to read
	// it, because another instance may have given hits back: once a second for each counter.
	Contains(key []byte) (over, read bool)
	// Add remembers the counter for as long as ttl.
	Add(key []byte, ttl time.Duration)
	// Remove forgets the counter, which is not over its limit any more.
	Remove(key []byte)
}
