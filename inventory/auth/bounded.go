package auth

import "time"

// bounded is a map of so many entries that are good for a time. Whoever uses it locks it.
type bounded[K comparable, V any] struct {
	most    int
	entries map[K]lasting[V]
}

// lasting is a value that is good from one time until before another.
type lasting[V any] struct {
	value       V
	from, until time.Time
}

func (l *lasting[V]) good(now time.Time) bool { return !now.Before(l.from) && now.Before(l.until) }

func newBounded[K comparable, V any](most int) bounded[K, V] {
	return bounded[K, V]{most: most, entries: map[K]lasting[V]{}}
}

// get returns the value of key if it is good at the time.
func (b *bounded[K, V]) get(key K, now time.Time) (V, bool) {
	l, ok := b.entries[key]
	return l.value, ok && l.good(now)
}

// put takes the value of key, and drops others if they are too many.
func (b *bounded[K, V]) put(key K, l lasting[V], now time.Time) {
	if _, ok := b.entries[key]; !ok && len(b.entries) >= b.most {
		b.makeRoom(now)
	}
	b.entries[key] = l
}

// makeRoom looks at a few, and drops the first and those that are not good. To go
// through all would make one caller in many wait.
func (b *bounded[K, V]) makeRoom(now time.Time) {
	looked := 0
	for key, l := range b.entries {
		if looked == 0 || !l.good(now) {
			delete(b.entries, key)
		}
		if looked++; looked == 8 {
			return
		}
	}
}
