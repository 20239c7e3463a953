package redisstore

import (
	"errors"
	"fmt"
	"time"
)

// attempts is how often a pipeline is tried on another connection when the one before
// has proved to be unfit before it did anything.
const attempts = 4

// serve gets the calls of the batch their answers, and hands them back.
func (n *node) serve(b *batch, extra bool) {
	b.merge(n.ledger, n.opts.Now())
	var err error
	for attempt := 0; attempt < attempts && b.open(); attempt++ {
		if err = n.try(b, extra); err != nil && !errors.Is(err, errUnsent) {
			break
		}
	}
	if err == nil {
		err = errReadOnly
	}
	b.fail(err)
	b.settle()
	for _, c := range b.calls {
		c.finish()
	}
}

var errReadOnly = errors.New("redisstore: the server is a read-only replica, and no other is known")

// errNoServer marks an error of a call that found no server. It was not made.
var errNoServer = marker{}

// marker is an error that is only looked for.
type marker struct{}

func (marker) Error() string { return "" }

// try puts the batch to the server once. If that fails, the connection is closed.
func (n *node) try(b *batch, extra bool) error {
	c, err := n.connection(b.deadline)
	if err != nil {
		n.report(err)
		return err
	}
	switch err = b.exec(c, n); {
	case err != nil:
		c.close()
		n.drop()
	case b.refused():
		// A replica. If it was the master once, all connections to it are as useless.
		c.close()
		n.forsake()
		return nil
	case extra:
		c.close()
	default:
		n.keep(c)
	}
	n.report(err)
	return err
}

// report logs when the server is lost, and when it is back.
func (n *node) report(err error) {
	switch {
	case err == nil && n.lost.Load() && n.lost.Swap(false):
		n.opts.Log.Info("redis: the store answers again")
	case err != nil && !errors.Is(err, errUnsent) && !n.lost.Swap(true):
		n.opts.Log.Error("redis: the store does not answer", "err", err)
	}
}

// connection is an idle one, or a new one.
func (n *node) connection(deadline time.Time) (*conn, error) {
	if c := n.reuse(); c != nil {
		return c, nil
	}
	age := n.currentAge()
	at, err := n.resolve(deadline)
	if err != nil {
		return nil, fmt.Errorf("%w%w", err, errNoServer)
	}
	c, err := n.dialer.open(deadline, at)
	if err != nil {
		return nil, fmt.Errorf("%w%w", err, errNoServer)
	}
	// The server may be another than before, even on the same address.
	c.epoch = n.epochs.Add(1)
	c.age = age
	n.epoch.Store(c.epoch)
	return c, nil
}

func (n *node) currentAge() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.age
}

// reuse takes the connection that was used last.
func (n *node) reuse() *conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := len(n.idle) - 1
	if last < 0 {
		return nil
	}
	c := n.idle[last]
	n.idle[last] = nil
	n.idle = n.idle[:last]
	c.epoch = n.epoch.Load()
	return c
}

// keep puts a connection back, unless the server has been forsaken in the meantime.
func (n *node) keep(c *conn) {
	n.mu.Lock()
	if c.age == n.age && len(n.idle) < n.opts.PoolSize {
		n.idle = append(n.idle, c)
		c = nil
	}
	n.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// drop closes the idle connections.
func (n *node) drop() {
	n.mu.Lock()
	idle := n.idle
	n.idle = nil
	n.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// forsake closes all connections: the idle ones now, the others after use.
func (n *node) forsake() {
	n.mu.Lock()
	n.age++
	n.mu.Unlock()
	n.drop()
}
