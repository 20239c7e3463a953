package redisstore

import (
	"hash/maphash"
	"sync"
)

const (
	expirySets = 1 << 16
	expiryWays = 4
)

// expiryTable records which counters have an expiry that this store has set. It is a
// set-associative cache of fixed size, 4 MiB: an expiry that it no longer holds is set
// again. Keys are represented by their hashes. If two keys share a hash, the counter
// without an expiry gets one when its first count shows that it is new.
type expiryTable struct {
	seed maphash.Seed
	mu   sync.Mutex
	sets [][expiryWays]expiryEntry
}

type expiryEntry struct {
	hash    uint64
	expires uint32 // Unix seconds
	epoch   uint32 // how many connections had been opened
}

func (t *expiryTable) hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// has reports whether the counter is known to expire, neither before the end of its
// window nor within the second. The mutex is held.
func (t *expiryTable) has(hash uint64, epoch uint32, windowEnd, now int64) bool {
	for _, e := range t.sets[hash%expirySets] {
		if e.hash == hash {
			return e.epoch == epoch && int64(e.expires) >= windowEnd && int64(e.expires) > now+1
		}
	}
	return false
}

// put records an expiry, in place of the one that ends first. The mutex is held.
func (t *expiryTable) put(hash uint64, epoch uint32, expires int64) {
	set := &t.sets[hash%expirySets]
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
	*oldest = expiryEntry{hash, uint32(expires), epoch}
}
