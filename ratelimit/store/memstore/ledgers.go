package memstore

import (
	"context"
	"errors"
	"time"
)

// ErrFull is the error of Update if MaxBytes is used up and, with Options.WhenFull, no other ledger makes room.
var ErrFull = errors.New("memstore: no memory for a further key with reservations: raise MaxBytes")

// ledger is the value of a key that the engine computes.
type ledger struct {
	value   []byte
	expires int64 // Unix seconds
}

// ledgerSize estimates the memory of an entry without its value.
const ledgerSize = 96

func (l ledger) size() int { return ledgerSize + cap(l.value) }

// Update implements ratelimit.LedgerStore. A ledger that grows is kept even if MaxBytes is used up; for a new one there is
// [ErrFull] then, or with WhenFull Allow it is not kept.
func (s *Store) Update(_ context.Context, key []byte, change func(old []byte) (value []byte, ttl time.Duration)) error {
	if key == nil {
		return nil
	}
	k, now := s.name(key), s.clock()
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	old, exists := sh.ledgers[k]
	if !exists && (now >= sh.ledgersChecked+checkAfter/1_000_000 || now < sh.ledgersChecked) {
		sh.dropLedgers(now)
		sh.ledgersChecked = now
	}
	value, ttl := change(old.value)
	next := ledger{value, now + int64(ttl/time.Second) + 2}
	switch {
	case value == nil:
		return nil
	case exists || sh.ledgerRoom(next.size(), now):
	case sh.whenFull == Allow:
		sh.uncounted = plus(sh.uncounted, 1)
		return nil
	default:
		return ErrFull
	}
	if sh.ledgers == nil {
		sh.ledgers = make(map[name]ledger)
	}
	if exists {
		sh.extra -= old.size()
	}
	sh.extra += next.size()
	sh.ledgers[k] = next
	return nil
}

// ledgerRoom makes room for a ledger: it drops those that have expired, and then, if the options say so, those of a
// few that expire first, or counters.
func (sh *shard) ledgerRoom(bytes int, now int64) bool {
	if sh.room(bytes, false) {
		return true
	}
	sh.dropLedgers(now)
	for sh.whenFull == EvictFewest || sh.whenFull == EvictOldest {
		if sh.room(bytes, false) {
			return true
		}
		if len(sh.ledgers) == 0 {
			return sh.evict() && sh.room(bytes, false)
		}
		const few = 8
		var first name
		expires, seen := int64(0), 0
		for k, l := range sh.ledgers {
			if seen == 0 || l.expires < expires {
				first, expires = k, l.expires
			}
			if seen++; seen == few {
				break
			}
		}
		sh.dropLedger(first)
		sh.evicted++
	}
	return sh.room(bytes, false)
}

// dropLedgers drops the ledgers that have expired.
func (sh *shard) dropLedgers(now int64) {
	for k, l := range sh.ledgers {
		if l.expires <= now {
			sh.dropLedger(k)
		}
	}
}

func (sh *shard) dropLedger(k name) {
	sh.extra -= sh.ledgers[k].size()
	delete(sh.ledgers, k)
}
