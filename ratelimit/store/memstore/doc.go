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
// A counter is told from others by its key and the end of its window, so limits of
// different units never count together, even where their keys are the same. It is kept
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
// A counter is one cache line. It holds the count and the first 50 bytes of the
// key, most often all of it; the rest of a long one lies in chunks. Beside the lines
// run the tags, half a hash each, sixteen to a line: place and filter at once. So a
// hit touches two lines that are its own, at addresses that are known at the same
// time. There are no pointers in either, so the garbage collector sees some large
// blocks and nothing to follow in them. A counter costs some 90 bytes in all: 48
// beyond a key of 40 bytes, if there are a million. An earlier form with the keys
// in chunks alone took 15 bytes less and one cache miss more, which is the dearest
// thing there is here. Multiplied down to the number of slots a tag needs no power
// of two, so tables grow by a quarter, in order, and without hashing a key again.
//
// Counting takes no lock. A table's cells are found through an atomic pointer and
// atomic tags, and added to with one atomic instruction. Locks are for new keys,
// new windows, and for growing. A table that grows leaves frozen cells behind: a bit
// in each count, set in the same instant in which the count is read for the larger
// table. Who adds to a frozen cell sees the bit in the result, and asks again under
// the lock; so nothing is lost and nothing counted twice. AddUnlessOver freezes
// the cells of its request in the same way while it decides. With a mutex per shard,
// which this replaced, every hit paid for two atomic instructions instead of one,
// and two cores on one key waited for each other. The price is a bit: counters
// stop at 1<<62.
//
// Sharing is for the rest of the window. If a table that has turned one key away
// took in others later, when memory has become free, a key that was counted on a
// shared counter would begin at zero again. So a sealed table stays sealed, and a
// key has one counter per window, its own or a shared one.
//
// The shared counters, and all else that a shard may come to need when it is full,
// are set aside from the start: Stats().Bytes never exceeds Options.MaxBytes. What
// the garbage collector has not yet collected, such as the table that a larger one
// has just replaced, comes on top, as for any Go program.
//
// Tables are never used again, only made anew: a goroutine that was held up between
// finding a cell and adding to it may come years later, and must not find another
// key there. The next window of a second begins with as many slots as the last one
// needed; longer ones grow from small, or a window with few keys would keep the
// memory of one with many.
//
// AddUnlessOver locks all shards of a request, in order, for the whole of the call. A
// request that brings new keys first makes their counters, at zero, and then decides:
// which of them are shared has to be known before anything is added.
package memstore
