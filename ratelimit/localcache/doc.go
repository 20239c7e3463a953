// Package localcache remembers counters that are over their limit, so that an
// engine whose counters are far away does not ask for them again.
//
// A counter that is over its limit stays so until its window ends. Asking the store
// about it once more costs a round trip and tells nothing new, and it is the client
// over its limit who calls the most. A [Cache] answers for the store then:
//
//	cache, err := localcache.New(16<<20, nil)
//	if err != nil {
//		return err
//	}
//	engine := ratelimit.New(store, &ratelimit.Options{OverLimitCache: cache})
//
// While a counter is remembered it is not added to. With counters in the same
// process a cache gains nothing.
//
// # Design notes
//
// Bytes are an account, not a measurement: an entry counts for what it takes when
// the allocator and the hash table waste most, and a test holds the heap against
// the account. Counting entries instead
// would let clients decide how much memory one is, by the length of what they send.
//
// Entries that are found often stay when room is short, and a key that was added but
// once does not drive them out, so a flood of clients that are each over the limit
// leaves the worst ones cached. That is the eviction policy of the library below,
// and the reason to use it instead of a map that is emptied now and then.
//
// There is no Close because nothing runs: upkeep is done by the calls that make it
// necessary, and expired entries go when others come, or when Stats is asked. The
// alternative, a goroutine that sweeps, would free the memory of an idle cache
// earlier, and have to be stopped. The price is that one call in many works off
// what has come up since the last, at some 0.2 µs for each entry that has expired.
// Entries expire as spread out as they were added.
//
// Expiry is only housekeeping. A key ends in the start of its window, so one that
// stays too long is never asked for, and one that goes too soon costs a question
// to the store.
package localcache
