// Package memstore keeps rate limit counters in the memory of the process. It counts
// exactly under any concurrency, uses bounded memory, and needs no goroutine or timer.
//
//	engine, err := ratelimit.New(memstore.MustNew(nil), nil)
//
// It is for single instances and for tests. Instances that share limits need a shared
// store.
//
// # Counters and windows
//
// A counter is identified by its key and the end of its window, so limits of different
// units never share a counter, even if their keys are equal. It is retained for two seconds
// after the end of its window, so that a hit that was decided in the last moment still
// counts; then its memory is freed by later calls of Add. A program that becomes idle can
// call [Store.Trim]. Jitter, which is for stores that expire counters one by one, is ignored.
//
// Options.Now and the clock of the Engine should be the same. If they are not, a window that
// had ended before its first hit is retained for a minute after that hit, and one in the
// future until its end. Each shard has room for 16 ends of windows, more than any one clock
// needs. If hits need more, the window furthest from now, past or future, is dropped, and
// begins at zero if it occurs again.
//
// # When memory is used up
//
// A client that can invent keys fills any memory. Options.WhenFull decides what happens to
// new counters then:
//
//   - EvictFewest, the default, drops about half of the counters of the shard's largest window,
//     those with the fewest hits, which begin at zero if they are counted on again. Invented
//     keys have few hits, so a flood drops mostly its own counters, and a counter near its
//     limit stays: to drop one with n hits, half of the memory must be filled with keys of n
//     hits or more. A client with fewer hits may be allowed those again.
//   - EvictOldest does the same with the counters that were created first, which are known
//     approximately. It is not the default, because a client can reset its own counter, or all
//     counters, with a flood of keys of one hit.
//   - Deny drops nothing. Once a shard has no memory for a new key, all new keys of that window
//     share a fixed set of up to 1,024 counters per shard, selected by the hash of the key.
//     Existing counters remain exact. A key on a shared counter may reach its limit early; it
//     can never exceed it. The next window starts again with separate counters.
//   - Allow drops nothing, and does not count new keys.
//
// Add never fails. An eighth of the memory is reserved for hits with Fixed, whose number the
// rules bound; their counters are never evicted. If even that is used up, they share counters.
// Stats().Overflow() grows while memory is used up.
//
// # Keys
//
// A counter takes about 32 bytes, however long its key is. The store does not keep keys: it knows a
// counter by 96 bits of two hashes with secret seeds, and the states of other algorithms by 64. Among 100
// million counters, two share one with a probability of 1 in 10 trillion (10^13), and nobody can choose
// keys that do.
//
// # Design notes
//
// There is one hash table per end of window, and entries do not expire one by one. No counter
// is used after its window, so a table is freed as a whole: freeing a million counters costs
// as much as freeing one, tables need no deletion, and no sweep blocks callers. Rejected: an
// expiry per entry (8 more bytes, and a scan), and a timer wheel (the same, and a goroutine).
// Units whose windows end at the same time share a table. Once a second one caller checks all
// shards, except those that are locked.
//
// A cell has 24 bytes, the hashes of the key and the count, so that a hit waits for memory once: for
// the cache line, sometimes two, with the cells where the table looks for the key. Neither contains pointers, so the
// garbage collector sees a few large blocks and scans nothing in them. An earlier form kept the beginning of the
// key in cells of 64 bytes, the rest in an arena, and tags beside the cells: 100,000 counters filled 9 MB instead of 3,
// and a hit on keys in random order took 1.6 times as long. One hash of 64 bits would be 4 ns faster, but two of 100 million keys
// would share a counter with a probability of 1 in 4,000. The position is half of a hash scaled to
// the number of slots, which need not be a power of two: tables grow by a quarter, in order,
// without hashing a key again.
//
// Counting takes no lock. The cells of a table are found through an atomic pointer and
// atomic hashes, and added to with one atomic instruction. Locks are for new keys, new windows
// and growth. A table that grows leaves frozen cells: a bit in each count, set in the
// same instruction that reads the count for the larger table. An addition to a frozen cell
// sees the bit in its result and is repeated under the lock, so nothing is lost and nothing
// counts twice. AddUnlessOver freezes the cells of its request in the same way while it
// decides. With the previous design, a mutex per shard, every hit cost two atomic
// instructions instead of one, and two cores that used one key waited for each other. The
// price is one bit: counters stop at 1<<62.
//
// Evicting one counter at a time would need deletion and an order of all counters. Instead a
// full table is replaced by one with half of the counters, selected by a histogram in two
// passes, like a table that grows: an addition to an evicted cell finds it frozen, is repeated
// under the lock, and creates a new counter. Age is the number of times that the table was
// replaced since the counter was created. A new key in
// a full store costs about 1 µs instead of 0.2 µs.
//
// Sharing lasts until the end of the window. If a table that has rejected one key accepted
// others later, when memory is free again, a key that was counted on a shared counter would
// begin at zero again. So a sealed table stays sealed, and each key has one counter per
// window, its own or a shared one.
//
// The shared counters, and everything else that a full shard may need, are reserved from the
// start: Stats().Bytes never exceeds Options.MaxBytes. Memory that the garbage collector has
// not collected yet, such as a table that was replaced by a larger one, is not included.
//
// Tables are never reused: a goroutine that was suspended between finding a cell and adding
// to it may resume much later, and must not find another key there. The next window of a
// second begins with as many slots as the last one needed; windows of longer units start
// small, or one with few keys would take the memory of one with many.
//
// AddUnlessOver locks all shards of a request, in order, for the whole call. It first creates
// the counters of new keys, at zero, and then decides: which of them are shared must be known
// before anything is added.
package memstore
