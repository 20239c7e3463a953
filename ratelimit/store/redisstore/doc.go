// Package redisstore keeps rate limit counters in Redis, where all instances share
// them: in one server, in the master that sentinels watch, or in a cluster.
//
//	store, err := redisstore.New("localhost:6379", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	if err := store.WaitReady(ctx, nil); err != nil {
//		return err
//	}
//	engine := ratelimit.New(store, nil)
//
// [NewSentinel] and [NewCluster] are the same for the other two.
//
// Keys and values are those of the reference service (reference 1.2), so both may count
// on the same counters, during a migration or for good.
//
// # Calls share pipelines
//
// A call that finds no pipeline under way begins one at once. Calls that come meanwhile
// wait for the next, all together. Hits on one counter that meet in a pipeline become
// one INCRBY; the counts are handed out in the order of the calls, so each caller gets
// the count it would have got alone. The more calls there are, the cheaper each is.
//
// One pipeline is under way at a time, as long as it takes less than a millisecond.
// When it takes longer the next begins beside it on another connection, up to PoolSize of
// them. When these are all in use, OnEmpty says what happens.
//
// # When the server fails
//
// No call lasts longer than Timeout, whatever its context allows. Nothing that may have
// been counted is sent again: a call fails when its connection breaks after the question
// and before the answer. What was certainly not counted is sent on: to a new connection
// if the server had closed the old one before the question, to another server if this
// one says that it is a read-only replica, or that the key has moved. Of a call whose
// context has ended nothing is counted if it was still waiting; if it was under way, it
// is counted once.
//
// # Expiry
//
// A counter expires when its window ends and the jitter has passed, at the earliest two
// seconds after the hit. Each instance sets that with its first hit on the counter, and
// not again: the key is that of one window. Counting and setting are one transaction, so
// no counter stays for ever because of what happens in between. If a counter is counted
// as 1 where it should have been there already, the server has lost it in the meantime;
// then its expiry is set before the caller has its answer, for which there is a second
// beyond Timeout. Whenever a connection is opened, all expiries are set again, for the
// server may be another one. What remains is this: if the server drops a counter to make
// room for others, an instance counts on it, and ends in that instant, then the counter
// lives until somebody counts again.
//
// # Passwords with a colon
//
// Options.Auth is "password" or "username:password". If there is a colon, the text before
// the first one is taken for a user. If the server refuses that login, the whole text
// is tried as the password of the default user, and the server that refuses one login
// may log it. Who does not want that writes a colon in front of the password: ":pass:word"
// names no user. What the server accepted last is tried first from then on.
//
// # Design notes
//
// A pipeline is a goroutine that is there only while there are calls. What was turned
// down: the caller as the leader of its pipeline, who could not leave it when its context
// ends; and a fixed set of workers, which have to be woken. The library's own coalescing
// pipelines have no limit to a wait, and know nothing of counters.
//
// The pool is ours, and the library is given one connection at a time: it does the
// handshake and the protocol. Its pool can't open one connection beyond its size and
// close it after use; it hands a connection to whoever asks, so nothing can be known
// about the server behind it; and it tries failed commands again unless told not to.
// Here each pipeline knows its connection before the commands are made, which setting
// the expiry only once depends on. Likewise the slots of a cluster are ours to know: the
// library's cluster client follows MOVED by itself, and asks another node when a
// connection breaks.
//
// Before a question is sent the socket is looked at without reading. That costs a
// system call in a pipeline, and saves the calls that would be lost with every restart of
// the server.
//
// Which counters have an expiry is kept as hashes in a table of 4 MiB, without locks on
// the way of a caller. A map would have to be bounded and swept.
//
// A transaction and not a script for new counters: it costs the server less, and users
// without the right to run scripts can count.
//
// A Cluster is another type than a Store because it can't decide for several counters
// in one step, and a type should not claim what it can't do.
package redisstore
