package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// askEvery is how long an answer about the cluster is good for. When much goes
	// wrong at once, the nodes are not asked more often.
	askEvery = 100 * time.Millisecond
	// askFor is how long one node may take to answer about the cluster.
	askFor = time.Second
)

// topology is which node serves which slot.
type topology struct {
	owner [slots]*node // nil: nobody
	nodes []*node
	asked time.Time
}

// topology is what is known, which is asked for if it is nothing.
func (c *Cluster) topology(ctx context.Context) (*topology, error) {
	if t := c.known.Load(); t != nil {
		return t, nil
	}
	return c.refresh(ctx)
}

// refresh asks who serves what, unless that was asked just now. All who want to know
// at the same time wait for one answer.
func (c *Cluster) refresh(ctx context.Context) (*topology, error) {
	if t := c.known.Load(); t != nil && time.Since(t.asked) < askEvery {
		return t, nil
	}
	answer := make(chan error, 1)
	if !c.begin(func() { answer <- c.learn() }) {
		return nil, ErrClosed
	}
	select {
	case err := <-answer:
		if err != nil {
			return nil, err
		}
		return c.known.Load(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("redisstore: given up: %w", context.Cause(ctx))
	}
}

// suspect has the topology be asked for in the background.
func (c *Cluster) suspect() {
	if t := c.known.Load(); t != nil && time.Since(t.asked) < askEvery || c.asking.Swap(true) {
		return
	}
	if !c.begin(func() {
		_ = c.learn()
		c.asking.Store(false)
	}) {
		c.asking.Store(false)
	}
}

// begin runs f beside the calls. It does not when the store is closed.
func (c *Cluster) begin(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(f)
	return true
}

// learn asks for the topology, once for all who do so at the same time.
func (c *Cluster) learn() error {
	_, err, _ := c.learning.Do("", func() (any, error) {
		if t := c.known.Load(); t != nil && time.Since(t.asked) < askEvery {
			return nil, nil
		}
		ranges, err := c.askAny()
		if err != nil {
			return nil, err
		}
		c.adopt(ranges)
		return nil, nil
	})
	return err
}

// askAny asks one node after the other, those that are known and those that were given.
func (c *Cluster) askAny() ([]slotRange, error) {
	places := append([]place{}, c.seeds...)
	c.mu.Lock()
	for at := range c.nodes {
		places = append(places, at)
	}
	c.mu.Unlock()
	rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })

	var failed []error
	end := time.Now().Add(c.opts.Timeout)
	for _, at := range places {
		if time.Now().After(end) {
			break
		}
		ranges, err := c.ask(at)
		if err == nil {
			return ranges, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("redisstore: no node of the cluster knows its slots: %w", errors.Join(failed...))
}

// slotRange is slots in a row that one node serves.
type slotRange struct {
	from, to int
	at       place
}

// ask has a connection of its own, since those of the node may all be stuck.
func (c *Cluster) ask(at place) ([]slotRange, error) {
	deadline := time.Now().Add(min(askFor, c.opts.Timeout))
	d := dialer{&c.opts, c.auth, new(traffic)}
	conn, err := d.open(deadline, at)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	answer := redis.NewClusterSlotsCmd(none, "cluster", "slots") // servers before 7.0 know it too
	if err := conn.Process(until{deadline}, answer); err != nil {
		return nil, replyError(conn, err)
	}
	var ranges []slotRange
	for _, r := range answer.Val() {
		if len(r.Nodes) == 0 || r.Start < 0 || r.End >= slots {
			continue
		}
		ranges = append(ranges, slotRange{r.Start, r.End, beside(at, r.Nodes[0].Addr)})
	}
	if len(ranges) == 0 {
		return nil, fmt.Errorf("redisstore: %s says that no slot is served", at.addr)
	}
	return ranges, nil
}

// beside reads an address that the node at this place has named. One without a host is
// on the same: a node that does not know its own is where it was reached. MOVED and ASK
// name IPv6 addresses without brackets.
func beside(at place, addr string) place {
	addr = strings.TrimSpace(addr)
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return place{"tcp", addr}
	}
	host := strings.Trim(addr[:colon], "[]")
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(at.addr)
	}
	return place{"tcp", net.JoinHostPort(host, addr[colon+1:])}
}

// adopt makes this the topology, and lets go of the nodes that have no part in it.
func (c *Cluster) adopt(ranges []slotRange) {
	t := &topology{asked: time.Now()}
	used := make(map[place]*node)
	for _, r := range ranges {
		n := used[r.at]
		if n == nil {
			n = c.nodeAt(r.at)
			used[r.at] = n
			t.nodes = append(t.nodes, n)
		}
		for slot := r.from; slot <= r.to; slot++ {
			t.owner[slot] = n
		}
	}
	c.known.Store(t)
	for _, n := range c.remove(used) {
		c.begin(n.close)
	}
}

// remove takes the nodes out that are not used.
func (c *Cluster) remove(used map[place]*node) []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []*node
	for at, n := range c.nodes {
		if used[at] == nil {
			delete(c.nodes, at)
			gone = append(gone, n)
		}
	}
	return gone
}

// nodeAt is the node at this place.
func (c *Cluster) nodeAt(at place) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[at]
	if n == nil {
		n = c.newNode(true, always(at))
		n.at, n.closed = at, c.closed
		c.nodes[at] = n
	}
	return n
}
