package memcachestore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// call is one Add: it reads all counters, and then counts.
type call struct {
	items  []item // one a hit
	parts  []part // one a node
	unread atomic.Int32
	done   chan struct{} // of one element
	left   atomic.Bool   // by its caller: nobody waits for the answers any more
	timer  *time.Timer
}

// item is a hit.
type item struct {
	counter *counter
	value   uint64 // on the node
	err     error
}

// part is the hits of a call whose counters are on one node.
type part struct {
	call  *call
	lane  *lane
	hits  []int // indexes
	begun bool
	err   error
}

func makeCall() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &call{done: make(chan struct{}, 1), timer: timer}
}

// newCall shares the hits out among the nodes.
func (s *Store) newCall(r *ring, hits []ratelimit.Hit) *call {
	c := s.calls.Get().(*call)
	c.items = slices.Grow(c.items[:0], len(hits))[:len(hits)]
	c.parts = c.parts[:0]
	for i := range hits {
		p := c.part(r.lane(hits[i].Key))
		p.hits = append(p.hits, i)
	}
	c.unread.Store(int32(len(c.parts)))
	return c
}

// part is that of the lane. It may be moved by the next one.
func (c *call) part(l *lane) *part {
	for i := range c.parts {
		if c.parts[i].lane == l {
			return &c.parts[i]
		}
	}
	n := len(c.parts)
	c.parts = slices.Grow(c.parts, 1)[:n+1]
	p := &c.parts[n]
	*p = part{call: c, lane: l, hits: p.hits[:0]}
	return p
}

// read asks all nodes for the counters. free reports whether the call is the caller's
// again: if it is not, answers may still come in.
func (c *call) read(ctx context.Context, hits []ratelimit.Hit, timeout time.Duration) (free bool, err error) {
	c.timer.Reset(timeout)
	defer c.timer.Stop()
	for i := range c.parts {
		p := &c.parts[i]
		if err := p.lane.begin(p, hits); err != nil {
			c.left.Store(true)
			return i == 0, err
		}
	}
	select {
	case <-c.done:
		return true, c.err()
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.timer.C:
		err = fmt.Errorf("%w of %v: asked %s", ErrTimeout, timeout, c.nodes())
	}
	c.left.Store(true)
	return false, err
}

// answered is called by the lane of a part when it has been read, or can't be.
func (p *part) answered() {
	if p.call.unread.Add(-1) == 0 {
		p.call.done <- struct{}{}
	}
}

// err is the first of the call: a call with one is not counted at all.
func (c *call) err() error {
	for i := range c.parts {
		if err := c.parts[i].err; err != nil {
			return err
		}
	}
	for i := range c.items {
		if err := c.items[i].err; err != nil {
			return fmt.Errorf("%w (hit %d)", err, i)
		}
	}
	return nil
}

// end lets go of a call that is not counted.
func (c *call) end() {
	for i := range c.parts {
		if p := &c.parts[i]; p.begun {
			p.lane.end(p)
		}
	}
}

// count counts the hits of a call that has been read.
func (c *call) count(hits []ratelimit.Hit) {
	for i := range c.parts {
		p := &c.parts[i]
		for _, mine := range p.lane.count(p, hits) {
			p.lane.run(mine)
		}
	}
}

func (c *call) nodes() string {
	nodes := make([]string, len(c.parts))
	for i := range c.parts {
		nodes[i] = c.parts[i].lane.addr
	}
	return strings.Join(nodes, ", ")
}

// free lets the call be used again.
func (s *Store) free(c *call) {
	const large = 1024
	if cap(c.items) > large || cap(c.parts) > large {
		return
	}
	clear(c.items)
	for i := range c.parts {
		c.parts[i] = part{hits: c.parts[i].hits[:0]}
	}
	c.left.Store(false)
	s.calls.Put(c)
}
