package auth

import (
	"context"
	"slices"
	"sync"
)

type originsKey struct{}

// WithOrigins returns a context for [Hasher.Hash] and [Hasher.Verify] that names on whose behalf
// they are called, such as a user name and a network. While calls wait, a Hasher serves origins in
// turn, so that an origin with many calls delays only its own.
func WithOrigins(ctx context.Context, origins ...string) context.Context {
	return context.WithValue(ctx, originsKey{}, origins)
}

type firstKey struct{}

// WithPriority returns a context for [Hasher.Hash] and [Hasher.Verify] whose calls are served before all
// others, unless another call of their origins waits. It is for callers who can't be strangers: many
// strangers do not delay them.
func WithPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, firstKey{}, true)
}

// memoryLimit bounds the memory of hashing and the number of waiting calls. Waiting calls are
// served in the order of their tags: the tag of a call is one more than the highest of its origins,
// and at least one more than that of the call served last (start-time fair queueing). The first
// waiting call of origins with priority has the tag of the call served last, so that it is next.
type memoryLimit struct {
	size  int64 // KiB
	limit int   // of waiting calls

	mu      sync.Mutex
	free    int64     // KiB
	waiting []*waiter // by tag, then by arrival
	served  uint64    // the highest tag that was served
	origins map[string]*origin
}

// waiter is a waiting call.
type waiter struct {
	kib     int64
	tag     uint64
	origins []string
	done    chan error // has room for one: nil when the memory is granted
}

// origin is an origin of waiting calls.
type origin struct {
	tag     uint64 // the highest
	waiting int
}

// acquire waits until kib KiB are free and returns a function that releases them. A request beyond the
// total waits for all of it.
func (g *memoryLimit) acquire(ctx context.Context, kib int64) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kib = min(kib, g.size)
	release = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.free += kib
		g.serve()
	}
	w, err := g.enter(ctx, kib)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return release, nil
	}
	select {
	case err = <-w.done:
	case <-ctx.Done():
		if g.remove(w) {
			return nil, ctx.Err()
		}
		if err = <-w.done; err == nil { // granted in the meantime
			release()
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	return release, nil
}

// enter takes memory if nothing waits, or returns a waiter. If too many calls wait, the last of
// them has to go, which may be this one.
func (g *memoryLimit) enter(ctx context.Context, kib int64) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && kib <= g.free {
		g.free -= kib
		return nil, nil
	}
	w := &waiter{kib: kib, tag: g.served, done: make(chan error, 1)}
	w.origins, _ = ctx.Value(originsKey{}).([]string)
	next := ctx.Value(firstKey{}) != nil
	for _, name := range w.origins {
		if o := g.origins[name]; o != nil {
			w.tag, next = max(w.tag, o.tag), false
		}
	}
	if !next {
		w.tag++
	}
	busy := &Error{Kind: Busy, Message: messageBusy}
	if len(g.waiting) >= g.limit {
		last := g.waiting[len(g.waiting)-1]
		if last.tag <= w.tag {
			return nil, busy
		}
		g.drop(len(g.waiting) - 1)
		last.done <- busy
	}
	for _, name := range w.origins {
		o := g.origins[name]
		if o == nil {
			o = &origin{}
			g.origins[name] = o
		}
		o.tag = w.tag
		o.waiting++
	}
	at, _ := slices.BinarySearchFunc(g.waiting, w.tag, func(other *waiter, tag uint64) int {
		if other.tag <= tag {
			return -1
		}
		return 1
	})
	g.waiting = slices.Insert(g.waiting, at, w)
	return w, nil
}

// remove removes a waiter and reports whether it was still waiting.
func (g *memoryLimit) remove(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, w)
	if at >= 0 {
		g.drop(at)
		g.serve() // the next one may need less memory
	}
	return at >= 0
}

// drop removes the waiter at a position.
func (g *memoryLimit) drop(at int) {
	for _, name := range g.waiting[at].origins {
		if o := g.origins[name]; o.waiting > 1 {
			o.waiting--
		} else {
			delete(g.origins, name)
		}
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
}

// serve grants memory to the first waiters.
func (g *memoryLimit) serve() {
	for len(g.waiting) > 0 && g.waiting[0].kib <= g.free {
		w := g.waiting[0]
		g.drop(0)
		g.free -= w.kib
		g.served = max(g.served, w.tag)
		w.done <- nil
	}
}
