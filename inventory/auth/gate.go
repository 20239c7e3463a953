package auth

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// gate bounds how much memory hashing takes at once, and how many wait for some.
type gate struct {
	room    *semaphore.Weighted
	size    int64 // KiB
	waiting atomic.Int64
	most    int64
}

func newGate(size, waiting int64) *gate {
	return &gate{room: semaphore.NewWeighted(size), size: size, most: waiting}
}

// enter waits until there is room for so many KiB and returns what gives it back.
// What is larger than all the room gets all of it, so that it is alone.
func (g *gate) enter(ctx context.Context, kib int64) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err // whoever asked has gone
	}
	kib = min(kib, g.size)
	leave = func() { g.room.Release(kib) }
	if g.room.TryAcquire(kib) {
		return leave, nil
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.most {
		return nil, &Error{Kind: Busy, Message: messageBusy}
	}
	if err := g.room.Acquire(ctx, kib); err != nil {
		return nil, err
	}
	return leave, nil
}
