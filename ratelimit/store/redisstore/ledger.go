package redisstore

import (
	"hash/maphash"
	"sync"
)

const (
	ledgerSets = 1 << 16
	ledgerWays = 4
)

// ledger remembers for which counters this store has set when they expire. It is a
// table of fixed size: what it has forgotten is set again, which costs a command. The
// hash stands for the key. Should two keys ever have the same, then a counter that has
// no expiry gets one all the same, when its first count shows that it is new.
type ledger struct {
	seed maphash.Seed
	mu   sync.Mutex
	sets [][ledgerWays]note
}

// note is one counter.
type note struct {
	hash    uint64
	expires uint32 // Unix seconds
	epoch   uint32 // of the node then: see node.epoch
}

func newLedger() *ledger {
	return &ledger{seed: maphash.MakeSeed(), sets: make([][ledgerWays]note, ledgerSets)}
}

func (l *ledger) hash(key []byte) uint64 { return maphash.Bytes(l.seed, key) }

func (l *ledger) set(hash uint64) *[ledgerWays]note { return &l.sets[hash%ledgerSets] }

// knows reports whether the counter expires, and not before the end of its window or
// within the second.
func (l *ledger) knows(hash uint64, epoch uint32, end, now int64) bool {
	for i := range l.set(hash) {
		n := &l.set(hash)[i]
		if n.hash == hash {
			return n.epoch == epoch && int64(n.expires) >= end && int64(n.expires) > now+1
		}
	}
	return false
}

// learn notes an expiry in place of the note that is over first.
func (l *ledger) learn(hash uint64, epoch uint32, expires int64) {
	set := l.set(hash)
	oldest := &set[0]
	for i := range set {
		if set[i].hash == hash {
			oldest = &set[i]
			break
		}
		if set[i].expires < oldest.expires {
			oldest = &set[i]
		}
	}
	*oldest = note{hash, uint32(expires), epoch}
}
