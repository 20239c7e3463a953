// Package localcache remembers counters that are over their limit, so that an engine with a
// remote store need not query them each time.
//
// A counter that is over its limit stays so until its window ends. Querying the store again
// costs a round trip and has a known result, and clients over their limit send the most
// requests. A [Cache] replaces these queries:
//
//	cache, err := localcache.New(16<<20, nil)
//	if err != nil {
//		return err
//	}
//	engine, err := ratelimit.New(store, &ratelimit.Options{OverLimitCache: cache})
//
// While a counter is in the cache, nothing is added to it. The engine reads it once a second, because
// other instances may give hits back. A cache has no benefit for
// counters in the same process.
//
// # Design notes
//
// Bytes are calculated, not measured: an entry counts as much as it takes when the allocator
// and the hash table waste most, and a test compares the sum with the heap. If the limit were
// a number of entries, clients could choose the size of the cache by the length of the values
// that they send.
//
// Entries that are found often stay when the cache is full, and a key that was added once
// does not evict them: many clients that exceed their limit once do not displace the worst
// ones. This eviction policy is the reason to use the library below instead of a map that
// is cleared at intervals.
//
// There is no Close, because there is no goroutine: calls do the maintenance, and expired
// entries are removed when others are added or when Stats is called. A goroutine would free
// the memory of an idle cache earlier, and would have to be stopped. In return, one call in
// many does the maintenance since the last one, about 0.2 µs for each expired entry. Entries
// expire at times as different as those at which they were added.
//
// Expiry only frees memory. A key contains the start of its window, so one that stays too
// long is never looked up, and one that expires too early costs a query of the store.
package localcache
