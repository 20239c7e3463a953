package memstore

import (
	"context"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Subtract implements ratelimit.SubtractStore. The error is always nil. A counter that
// shares its memory with others (see the package's documentation) is shared here too:
// hits that others counted there may be subtracted.
func (s *Store) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		var t ticket
		h := &hits[i]
		k := s.ticketName(h.Key, &t)
		sh := s.shard(k)
		sh.mu.Lock()
		h.Count = sh.existing(h, k).subtract(h.N)
		sh.mu.Unlock()
	}
	return nil
}

// subtract stops at zero and returns the count. The shard must be locked, so that the
// cell is not frozen; others may add to it.
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
