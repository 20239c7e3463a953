package records

import (
	"context"
	"sync/atomic"
)

// Seen is the newest change that a caller knows of, as a position in the log of the database: 0 for none. A [Store]
// that reads from a replica reads from the database itself while the replica is behind it, and notes the changes that
// the caller makes. It is safe for concurrent use.
type Seen struct{ position atomic.Int64 }

// Position returns the position.
func (s *Seen) Position() int64 { return s.position.Load() }

// Advance notes a position, unless a later one is known.
func (s *Seen) Advance(to int64) {
	for at := s.position.Load(); at < to && !s.position.CompareAndSwap(at, to); at = s.position.Load() {
	}
}

type seenKey struct{}

// WithSeen returns the context of a caller who has seen a position, from 0, and what is noted there.
func WithSeen(ctx context.Context, position int64) (context.Context, *Seen) {
	s := &Seen{}
	s.Advance(position)
	return context.WithValue(ctx, seenKey{}, s), s
}

// SeenBy returns what the caller of a context has seen, nil if nobody notes it.
func SeenBy(ctx context.Context) *Seen {
	s, _ := ctx.Value(seenKey{}).(*Seen)
	return s
}
