package health

import "slices"

// listener is a function that is told the state of the whole. Its fields are guarded
// by Health.mu.
type listener struct {
	f       func(healthy bool)
	last    bool // what f was told last
	pending int  // how many changes it has not been told
	telling bool // a goroutine is at it
}

// Notify calls f with the present state before it returns, and later with each
// change, in order and one call at a time. A change is told once: two calls in a row
// never say the same.
//
// No lock is held meanwhile, so f may use the Health, also to change it; what it
// changes is told after it has returned. It should return soon, because it is called
// by the goroutine that makes the change, and those who listen after it wait.
//
// When stop has returned, no new call of f starts; one may be under way. Calling it
// again does nothing.
func (h *Health) Notify(f func(healthy bool)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &listener{f: f, last: h.unhealthy != 0, pending: 1}
	h.listeners = append(h.listeners, l)
	h.drain(l) // ours from the first moment, so f has been told when Notify returns
	return func() { h.remove(l) }
}

func (h *Health) remove(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.pending = 0
	// A copy, for a range over the old ones may be under way.
	h.listeners = slices.DeleteFunc(slices.Clone(h.listeners), func(other *listener) bool { return other == l })
}

// tell tells every listener what it has not been told, in the order they came.
func (h *Health) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.listeners {
		h.drain(l)
	}
}

// drain tells one listener all it has not been told, unless a goroutine is at that
// already, which then does. The caller holds the lock; it is let go for each call.
func (h *Health) drain(l *listener) {
	if l.telling {
		return
	}
	l.telling = true
	defer func() { l.telling = false }() // also when f panics
	for l.pending > 0 {
		l.pending--
		l.last = !l.last
		h.call(l.f, l.last)
	}
}

func (h *Health) call(f func(bool), healthy bool) {
	h.mu.Unlock()
	defer h.mu.Lock()
	f(healthy)
}
