package memcachestore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// count counts the hits of a part that has been read, and ends it. The counters that
// it returns are for the caller to increment, with run.
func (l *lane) count(p *part, hits []ratelimit.Hit) (mine []*counter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range p.hits {
		h, it := &hits[i], &p.call.items[i]
		c := it.counter
		h.Count = c.add(it.value, h.N)
		c.ttl = max(c.ttl, h.TTL())
		c.calls--
		switch {
		case c.queued == 0 || c.listed:
		case l.killed:
			l.lose(c)
		case len(l.queue) >= l.opts.MaxPending:
			c.listed = true
			l.busy++
			mine = append(mine, c)
		default:
			l.enlist(c)
		}
		l.forget(c)
	}
	l.calls--
	l.change()
	return mine
}

// enlist queues a counter for an increment.
func (l *lane) enlist(c *counter) {
	c.listed = true
	l.queue = append(l.queue, c)
	if l.writers < l.opts.MaxWorkers {
		l.writers++
		go l.write()
	}
}

// write is a goroutine that increments as long as counters wait.
func (l *lane) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		c := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.busy++
		l.increment(c)
	}
	l.writers--
	l.change()
}

// run increments a counter that is for the caller.
func (l *lane) run(c *counter) {
	l.tally.held.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.increment(c)
}

// increment sends the hits of a counter to the node. Those that come meanwhile are for
// the next increment. It is called with the lock held, which it gives up in between.
func (l *lane) increment(c *counter) {
	n, ttl := c.send(), c.ttl
	l.mu.Unlock()
	value, err := l.push(c.key, n, ttl)
	l.mu.Lock()
	if err != nil {
		l.tally.lost.Add(n)
	}
	c.arrived(value)
	c.listed = false
	l.busy--
	switch {
	case c.queued == 0:
		l.forget(c)
	case l.killed:
		l.lose(c)
	default:
		l.enlist(c)
	}
	l.change()
}

// attempts is how often a counter may come and go between two commands before that is
// taken for a failure.
const attempts = 3

// push adds to a counter on the node, and makes it if there is none.
func (l *lane) push(key string, n uint64, ttl time.Duration) (value uint64, err error) {
	for range attempts {
		value, err = l.incr(key, n)
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return value, err
		}
		err = l.add(key, n, ttl)
		if !errors.Is(err, memcache.ErrNotStored) {
			return n, err
		}
	}
	return 0, fmt.Errorf("memcachestore: node %s: a counter comes and goes: the node may be out of memory", l.addr)
}

func (l *lane) incr(key string, n uint64) (value uint64, err error) {
	err = l.do(whenUnsent, func() (err error) {
		value, err = l.client.Increment(key, n)
		return err
	})
	if errors.Is(err, memcache.ErrCacheMiss) {
		l.tally.increment.miss.Add(1)
		return 0, err
	}
	l.tally.increment.done(err)
	return value, err
}

func (l *lane) add(key string, n uint64, ttl time.Duration) error {
	err := l.do(whenUnsent, func() error {
		return l.client.Add(&memcache.Item{
			Key: key, Value: strconv.AppendUint(nil, n, 10), Expiration: expiry(ttl, l.opts.Now()),
		})
	})
	if errors.Is(err, memcache.ErrNotStored) {
		l.tally.add.notStored.Add(1)
		return err
	}
	l.tally.add.done(err)
	return err
}
