package redisstore

import "sync"

// spares are calls and batches for use again. The nodes of a store share them.
type spares struct {
	calls, batches sync.Pool
}

func newSpares() *spares {
	return &spares{
		calls:   sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }},
		batches: sync.Pool{New: func() any { return newBatch() }},
	}
}

// call is one without items.
func (s *spares) call(k kind) *call {
	c := s.calls.Get().(*call)
	c.kind, c.asking, c.err = k, false, nil
	c.keys, c.items = c.keys[:0], c.items[:0]
	c.state.Store(waiting)
	return c
}

// free takes a call that is finished, or was never made. Large ones are not worth their
// memory.
func (s *spares) free(c *call) {
	const large = 64 << 10
	if cap(c.keys) > large || cap(c.items) > longest {
		return
	}
	for i := range c.items {
		c.items[i].err = nil
	}
	s.calls.Put(c)
}

// batch is an empty one.
func (s *spares) batch() *batch { return s.batches.Get().(*batch) }

// keep takes a batch that has been reset.
func (s *spares) keep(b *batch) { s.batches.Put(b) }
