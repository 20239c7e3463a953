// Package memstore keeps rate limit counters in the memory of the process: exact
// under any concurrency, in bounded memory, without a goroutine or a timer.
//
//	engine := ratelimit.New(memstore.New(nil), nil)
//
// It suits a single instance, and tests. Instances that are to share limits need a
// store that they share.
//
// # Counters and windows
//
// A counter is told from others by its key and the end of its window. It is kept
// until two seconds after that, so that a hit that was decided in the last moment
// still counts; then its memory is free for others. Calls of Add see to that as
// they go; a program that goes idle may call [Store.Trim]. Jitter, which is for
// stores that expire counters one by one, is ignored.
//
// Options.Now and the Engine's clock should be the same. If they are not: a window
// that was over before its first hit is kept for a minute from then on, and one
// that has yet to begin, until its end. In each shard there is room for 16 ends
// of windows, more than any clock needs. If hits bring more, the one furthest
// from now, past or future, is forgotten, and begins at zero if it comes again.
//
// # When memory is used up
//
// Add never fails and never drops a counter to make room for another: dropping
// would let a client that can invent keys lift the limits of everyone else.
// Instead, once a shard has no memory left for a new key, all new keys of that
// window share a fixed set of counters, up to 1,024 per shard, chosen by the key's
// hash. The counters that exist remain exact. A key on a shared counter may reach
// its limit early, because others count there as well; it can never exceed it. The
// next window starts afresh, with counters of its own as far as there is memory.
// Stats().Shared tells that this has happened.
//
// Keys longer than 512 bytes are kept as their SHA-256 digest, so that a client
// cannot choose how much memory a key takes.
//
// # Design notes
//
// Hash tables per window rather than entries that expire. A counter is never used
// again after its window, so a table goes as a whole: freeing a million counters
// is the work of one, there is no deletion in the table, and no sweep stops
// anyone. What was turned down: a time per entry (8 bytes more, and a scan), and a
// timer wheel (the same, and a goroutine). Units whose windows end together share
// a table. Once a second one caller looks through all shards; it passes over those
// that are locked.
//
// No pointers per counter. A counter is a slot of 16 bytes (half a hash, the
// place of the key's bytes, the count), and the bytes lie one after the other in
// chunks, so the garbage collector sees some large blocks and nothing to follow
// in them. Keys cost 27 to 39 bytes each beyond their own, depending on when the
// tables last grew; 35 if there are a million. The tag, half the hash, is both place
// and filter: multiplied down to the number of slots it needs no power of two, so
// tables grow by half, in order, and without hashing a key again.
//
// A mutex per shard. With two goroutines on two cores that do nothing but count on
// one and the same key, a call takes 1.0 to 1.1 times what it takes alone, and no
// longer than one of two on different keys, whose time is that of the cache misses;
// trying some fifty times before locking changed nothing, and a spin lock was
// slower by half. A call on one of 100,000 keys takes about 1.5 times the load of
// that key from a sync.Map, alone and in parallel (BenchmarkFloor measures both
// in turns).
//
// Sharing is for the rest of the window. If a table that has turned one key away
// took in others later, when memory has become free, a key that was counted on a
// shared counter would begin at zero again. So a sealed table stays sealed, and a
// key has one counter per window, its own or a shared one.
//
// The shared counters, and all else that a shard may come to need when it is full,
// are set aside from the start: Stats().Bytes never exceeds Options.MaxBytes. While
// a table grows, its old and its new slots both count, which is why a full
// store is seen to use between two thirds and nine tenths of its bound. What the
// garbage collector has not yet collected comes on top, as for any Go program.
//
// Only windows of a second have their memory used again, because the next one
// comes at once. For longer ones a spare table would lie idle for most of the time
// and double what the store takes.
//
// AddUnlessOver locks all shards of a request, in order, for the whole of the
// call. A request that brings new keys first makes their counters, at zero, and
// then decides: which of them are shared has to be known before anything is added.
package memstore
