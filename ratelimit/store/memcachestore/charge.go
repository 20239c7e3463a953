package memcachestore

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/ratelimit"
)

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

// Charge implements ratelimit.ChargeStore by compare-and-swap: a state is read, and written unless
// another instance has written it meanwhile. That is two round trips for each key, and one if
// nothing is charged. Charges on one key wait for the exchange under way and share the next one, so
// only instances compete for a key, not calls. After eight attempts Charge fails with ErrContended.
//
// Other errors are those of Add. Some charges of a call that fails may have been made.
func (s *Store) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	all := make([]*charge, 0, len(charges))
	err := s.do(ctx, len(charges), func(i int) []byte { return charges[i].Key }, func(i int, n *node) *result {
		all = append(all, n.joinExchange(charges[i]))
		return &all[i].exchange.result
	})
	for i, c := range all {
		c.abandoned.Store(err != nil)
		if err == nil {
			charges[i].Allowed, charges[i].State = c.Allowed, c.State
		}
	}
	return err
}

// joinExchange has a charge wait for an exchange of its key that has not begun.
func (n *node) joinExchange(of ratelimit.Charge) *charge {
	e, running := n.exchanges[string(of.Key)]
	if e == nil {
		key := string(of.Key)
		e = &exchange{result: result{node: n, done: make(chan struct{})}}
		n.exchanges[key] = e
		if !running {
			n.store.workers.Go(func() { n.exchange(key) })
		}
	}
	of.Key = nil // the caller's
	c := &charge{Charge: of, exchange: e}
	e.charges = append(e.charges, c)
	n.waiting++
	return c
}

// exchange makes one exchange of a key after the other, while there are charges.
func (n *node) exchange(key string) {
	for more := true; more; {
		n.exchanging <- struct{}{}
		n.store.mu.Lock()
		e := n.exchanges[key]
		n.exchanges[key] = nil
		n.waiting -= len(e.charges)
		n.store.mu.Unlock()
		e.err = n.charge(key, e.charges)
		close(e.done)
		<-n.exchanging
		n.store.mu.Lock()
		if more = n.exchanges[key] != nil; !more {
			delete(n.exchanges, key)
			n.store.changed.Broadcast()
		}
		n.store.mu.Unlock()
	}
}

// maxSwaps bounds how often a state is read until it could be written.
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
		var state ratelimit.State
		item, codes, store := &memcache.Item{Key: key}, &n.store.stats.Add, n.client.Add
		if found[key] != nil {
			item, codes, store = found[key], &n.store.stats.CompareAndSwap, n.client.CompareAndSwap
			if state, err = parseState(item.Value); err != nil {
				return fmt.Errorf("%w (node %s)", err, n.addr)
			}
		}
		var ttl time.Duration // for which it is to be kept, in whole seconds
		for _, c := range charges {
			if c.abandoned.Load() {
				continue
			}
			existed := state != ratelimit.State{}
			c.Apply(&state)
			if c.Allowed && c.N > 0 && (!c.Refund || existed) {
				kept := time.Duration(c.Expires()-c.Now) * time.Microsecond
				ttl = max(ttl, (kept + time.Second - 1).Truncate(time.Second), time.Second)
			}
		}
		if ttl == 0 {
			return nil
		}
		item.Value, item.Expiration = formatState(state), expiry(ttl, n.store.opts.Now())
		err = n.do(codes, func() error { return store(item) })
		if number := codes.of(err); number == &codes.Success || number == &codes.Error {
			return err
		}
	}
	return fmt.Errorf("%w (%d attempts, node %s)", ErrContended, maxSwaps, n.addr)
}

// formatState returns the numbers of a state in decimal, with blanks between them.
func formatState(s ratelimit.State) []byte { return bytes.Trim(fmt.Append(nil, s), "[]") }

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
