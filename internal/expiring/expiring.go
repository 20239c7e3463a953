// Package expiring caches values that stay valid for a time.
package expiring

import (
	"maps"
	"sync"
	"time"
)

// Cache has a maximum number of entries. Create it with [New]. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.RWMutex
	entries map[K]entry[V]
	age     uint64 // increases with each Forget
}

// entry is a value that is valid from one time until before another.
type entry[V any] struct {
	value       V
	from, until time.Time
}

func (e *entry[V]) valid(now time.Time) bool { return !now.Before(e.from) && now.Before(e.until) }

// New returns an empty cache of up to limit entries.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]entry[V]{}}
}

// Get returns the value of a key if it is valid, and the age of the cache for [Cache.Put].
func (c *Cache[K, V]) Get(key K, now time.Time) (value V, ok bool, age uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok && e.valid(now), c.age
}

// Put stores a value that was read at a time, after Get has returned the age. After a Forget since then the
// value may be from before the change, so it is not stored. A full cache drops entries.
func (c *Cache[K, V]) Put(key K, value V, now, until time.Time, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age || !now.Before(until) {
		return
	}
	if _, ok := c.entries[key]; !ok && len(c.entries) >= c.limit {
		c.makeRoom(now)
	}
	c.entries[key] = entry[V]{value, now, until}
}

// makeRoom examines 8 entries and removes the first and all expired ones. Examining all would delay
// one caller in many.
func (c *Cache[K, V]) makeRoom(now time.Time) {
	examined := 0
	for key, e := range c.entries {
		if examined == 0 || !e.valid(now) {
			delete(c.entries, key)
		}
		if examined++; examined == 8 {
			return
		}
	}
}

// Forget removes the entries that match.
func (c *Cache[K, V]) Forget(match func(key K, value V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age++
	maps.DeleteFunc(c.entries, func(key K, e entry[V]) bool { return match(key, e.value) })
}

// Len returns the number of entries, expired ones included.
func (c *Cache[K, V]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}
