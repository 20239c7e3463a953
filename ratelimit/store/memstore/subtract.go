package memstore

import (
	"context"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Subtract implements ratelimit.SubtractStore. The error is always nil. On a
// shared counter (see the package documentation) it may subtract the hits of other keys.
func (s *Store) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		k := s.name(h.Key)
		sh := s.shard(k)
		sh.mu.Lock()
		h.Count = sh.existing(h, k).subtract(h.N)
		sh.mu.Unlock()
	}
	return nil
}

// subtract subtracts n, stops at zero, and returns the count. The shard must be locked, so that
// the cell is not frozen; concurrent additions are possible.
func (c counter) subtract(n uint64) uint64 {
	switch {
	case c.own != nil:
		for {
			now := c.own.count.Load()
			if left := now - min(now, n); c.own.count.CompareAndSwap(now, left) {
				return left
			}
		}
	case c.shared != nil:
		*c.shared -= min(*c.shared, n)
		return *c.shared
	}
	return 0
}
