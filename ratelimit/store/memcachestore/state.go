package memcachestore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// state is a key with charges. The lock of its queue protects it.
type state struct {
	key  string
	next *exchange // charges join it until it begins
}

// exchange is a read and a write of a state, for all charges that joined it before it began.
type exchange struct {
	result
	charges []*charge
}

// charge is a copy of a charge of a caller.
type charge struct {
	ratelimit.Charge
	exchange  *exchange
	abandoned atomic.Bool // the caller has an error already
}

// addCharges queues the charges of a call that has entered.
func (q *queue) addCharges(p *part, r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range p.indexes {
		s := q.states[string(r.charges[i].Key)]
		if s == nil {
			s = &state{key: string(r.charges[i].Key)}
			q.states[s.key] = s
			q.exchanges = append(q.exchanges, s)
			q.start(&q.exchangers, q.node.opts.MaxWorkers, (*queue).exchange)
		}
		if s.next == nil {
			s.next = &exchange{result: newResult(q)}
		}
		c := &charge{Charge: r.charges[i], exchange: s.next}
		c.Key = nil // the caller's
		s.next.charges = append(s.next.charges, c)
		p.charges = append(p.charges, c)
		q.charges++
	}
}

// exchange makes the charges of the next state.
func (q *queue) exchange() bool {
	s, ok := next(&q.exchanges)
	if !ok {
		return false
	}
	e := s.next
	s.next = nil
	q.charges -= len(e.charges)
	q.mu.Unlock()
	e.err = q.node.charge(s.key, e.charges)
	close(e.done)
	q.mu.Lock()
	if s.next != nil {
		q.exchanges = append(q.exchanges, s)
	} else {
		delete(q.states, s.key)
	}
	return true
}

// maxSwaps is how often a state is read until it could be written.
const maxSwaps = 8

// swapWait keeps instances that compete for a key apart.
var swapWait = backoff.Backoff{Initial: 500 * time.Microsecond, Max: 10 * time.Millisecond, Jitter: 1}

// charge makes charges on one key.
func (n *node) charge(key string, charges []*charge) error {
	for attempt := range maxSwaps {
		if attempt > 1 && backoff.Sleep(n.aborted, swapWait.Wait(attempt)) != nil {
			return ErrClosed
		}
		found, err := n.get([]string{key})
		if err != nil {
			return err
		}
		var before ratelimit.State
		item, codes, store := &memcache.Item{Key: key}, &n.totals.Add, n.client.Add
		if found[key] != nil {
			item, codes, store = found[key], &n.totals.CompareAndSwap, n.client.CompareAndSwap
			if before, err = parseState(item.Value); err != nil {
				return fmt.Errorf("%w (node %s)", err, n.addr)
			}
		}
		after, ttl := applyCharges(before, charges)
		if ttl == 0 {
			return nil
		}
		item.Value, item.Expiration = appendState(nil, after), expiry(ttl, n.opts.Now())
		err = n.do(modifying, codes, func() error { return store(item) })
		if !errors.Is(err, memcache.ErrCASConflict) && !errors.Is(err, memcache.ErrNotStored) && !errors.Is(err, memcache.ErrCacheMiss) {
			return err
		}
	}
	return fmt.Errorf("%w (%d attempts, node %s)", ErrContended, maxSwaps, n.addr)
}

// applyCharges applies the charges. It returns how long the state is to be kept, in whole seconds, and 0 if it
// need not be written.
func applyCharges(s ratelimit.State, charges []*charge) (after ratelimit.State, ttl time.Duration) {
	for _, c := range charges {
		if c.abandoned.Load() {
			continue
		}
		existed := s != ratelimit.State{}
		c.Apply(&s)
		if c.Allowed && c.N > 0 && (!c.Refund || existed) {
			kept := time.Duration(c.Expires()-c.Now) * time.Microsecond
			ttl = max(ttl, (kept + time.Second - 1).Truncate(time.Second), time.Second)
		}
	}
	return s, ttl
}

// appendState appends the numbers of a state in decimal, with blanks between them.
func appendState(b []byte, s ratelimit.State) []byte {
	for i, number := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, number, 10)
	}
	return b
}

func parseState(text []byte) (s ratelimit.State, err error) {
	words := strings.Fields(string(text))
	if len(words) != len(s) {
		return s, fmt.Errorf("%w: it has %d parts", ErrNotAState, len(words))
	}
	for i, word := range words {
		if s[i], err = strconv.ParseInt(word, 10, 54); err != nil {
			return s, fmt.Errorf("%w: its part %d is no number", ErrNotAState, i)
		}
	}
	return s, nil
}
