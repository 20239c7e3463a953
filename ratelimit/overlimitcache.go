package ratelimit

import "time"

// OverLimitCache remembers counters that are over their limit, so that the store
// is not asked about them again in the same window (matching rule 13).
//
// It is for stores that are far away; it is never more than a hint, and may
// forget at any time. Calls may come from any goroutine. Keys belong to the
// caller: what is kept must be copied.
type OverLimitCache interface {
	// Contains reports whether the counter is known to be over its limit.
	Contains(key []byte) bool
	// Add remembers the counter for as long as ttl.
	Add(key []byte, ttl time.Duration)
	// Remove forgets the counter, of which hits have been taken back.
	Remove(key []byte)
}
