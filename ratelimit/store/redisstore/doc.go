// Package redisstore keeps rate limit counters in Redis, where all instances share them:
// in one server, in the master of a group that sentinels watch, or in a cluster.
//
//	store, err := redisstore.New("localhost:6379", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	if err := store.WaitReady(ctx, nil); err != nil {
//		return err
//	}
//	engine, err := ratelimit.New(store, nil)
//
// [NewSentinel] and [NewCluster] create the other two. No constructor uses the network.
//
// Keys and values are those of the reference service (REFERENCE.md, 3.1 and 6.1), so both
// may count on the same counters, during a migration or permanently. INCRBY, EXPIRE and GET
// are enough, as behind a proxy, or where commands were renamed: if SET or PEXPIRE is refused,
// the store does without, and a call that was counted does not fail because its counter got
// no expiry. HELLO and MULTI are never sent, and scripts with several keys not to proxies, which
// execute them on the server of the first key: AddUnlessOver returns errors.ErrUnsupported there.
//
// Limits of other algorithms than fixed windows, and hits that are given back, need scripts with
// one key each, so they work in clusters and behind proxies that pass EVAL and EVALSHA on. Where
// scripts are refused, those calls fail with an error that wraps errors.ErrUnsupported, and all
// others work. Such a limit is a key of its own, whose value is its state in text:
//
//	sliding window   "1795392000000000 17 3"  the start of the window, its hits, and those before
//	token bucket     "1795394312540400 2"     when it will be full, and the rest of a microsecond
//	concurrency      "179539431 0 0 0 2 ..."  the newest slot, and the permits of eight slots
//	reservations     "179539200 17 3 ..."     a window or bucket, and what is reserved (REFERENCE.md, 3.9)
//
// The last is computed by the engine, so Update reads it, and replaces it by a script if it is still the same.
//
// The times are in Unix microseconds, by the clock of the server, which a Store and so an Engine follow: they
// ask the server once a second (TIME; in a cluster the server of one slot), and use its time if it
// differs from that of the machine by more than 0.1 s, which is logged. Until the first reply, for which
// WaitReady waits, and where a server does not tell its time, as behind some proxies, they use the clock of
// the machine, and so they do with a clock of their own (Options.Now). A state outlives its use by two seconds, so that none is lost too early for an
// instance whose clock is late by as much, but lives for three windows at most, or three times as long as
// a bucket takes to fill. If the clocks of instances are apart by more
// than a window (or that time), the state of a sliding window or token bucket has the numbers of both, those of
// the clock that is ahead first.
//
// # Pipelines
//
// A call that finds no pipeline running starts one. Calls that arrive meanwhile wait for
// the next pipeline, all together. Hits on the same counter in a pipeline become one
// INCRBY; each caller gets the count that it would have got alone, in the order of the
// calls. The more calls there are, the less each costs. In the same way charges on one key
// become one script call with a list of charges, and subtractions from one counter another.
//
// One pipeline runs at a time, as long as it takes less than a millisecond. If it takes
// longer, the next one starts beside it on another connection, up to PoolSize of them.
// When all of these are in use, OnEmpty applies. A cluster has pipelines and connections
// for each of its servers, so a server that hangs delays only the calls that need it.
//
// # Failures
//
// No call lasts longer than Timeout, whatever its context allows. A command that may have
// been counted is never sent again: a call fails if its connection breaks between the
// command and the reply. A command that was certainly not counted is sent again: to a
// new connection if not a byte could be written to the old one, to another server if
// this one is a read-only replica, or if a cluster has moved the key. While no connection
// can be opened, calls wait for about 300 milliseconds. If a call's context ends while the
// call waits, nothing is counted; if the call is under way, it is counted once. The same holds
// for charges and subtractions.
//
// Each server has a breaker. It opens if at least half of the pipelines have failed over 250
// milliseconds, at least Options.BreakerFailures, and no new connection works meanwhile. Calls
// that need the server then fail with [ErrSuspended]. In the background, connections are tried
// after BreakerWait, doubled each time, up to BreakerMaxWait; the first reply to one closes the
// breaker. A server that does not reply for 250 milliseconds is tried too, although its calls
// may last longer: a sentinel or the cluster may have replaced it. Replies that are errors are
// no failures of the server.
//
// [ErrBusy] and [ErrPoolEmpty] mean that this process has too many calls under way. They
// wrap ratelimit.ErrOverloaded, and are no failures of the server.
//
// # Expiry
//
// A counter expires when its window and the jitter have passed, and at the earliest two
// seconds after the hit. Each instance sets the expiry with its first hit on the counter,
// and again after it has opened a connection, because the server may be another one. A
// new counter is created with its expiry (SET NX PX) and then added to, so that no counter
// remains without one, wherever the connection breaks. If a known counter turns out to be
// new, the server has lost it in the meantime; its expiry is then set before the caller
// gets its count, for which there is a second beyond Timeout. One case remains: if the
// server evicts a counter, an instance counts on it, and ends in that instant, then the
// counter lives until it is counted on again.
//
// # Passwords with a colon
//
// Options.Auth is "password" or "username:password". If there is a colon, the text before
// the first one is a user name. If the server refuses that, the whole text is
// tried as the password of the default user; the server may log the refusal. To prevent
// this, prefix the password with a colon: ":pass:word" has no user name. The form that
// was accepted last is tried first.
//
// # Design notes
//
// go-redis does the connections, the protocol, the pool and the routing in a cluster; the
// queue, the batches and the expiries are ours. At 64 concurrent calls on two cores (median
// of 15 alternating rounds) ratelimitd used 1.23 of the CPU of a bare gRPC server, and
// Redis 4.3 microseconds per call; with a pool and a cluster client of our own, which are
// gone, it was 1.20 and 4.3.
//
// The library's AsyncAutoPipeline was turned down: its waits have no limit, and it can't
// merge commands on one counter.
//
// Worker goroutines exist only while there are calls. Making a caller send the batch was
// turned down, because it could not return when its context ends; so was a fixed number of
// workers, because waking them costs more.
//
// The library's defaults are not safe for counting. MaxRetries is -1, because an INCRBY
// that is sent again may count twice. A cluster client has loops of its own, which send
// all commands of a broken connection again, and all commands of a pipeline if the first
// reply is, for example, READONLY: commands with NoRetry prevent both, and leave MOVED,
// ASK and connections that can't be opened, of which nothing was counted. A cluster
// client looks for the servers of its slots once a minute, so it is made to when a
// connection fails; and it would wait for a server that hangs, so it gets the slots from a
// function of ours that asks another one after 100 milliseconds.
//
// Breakers are here and not around the store: only here it is known which server a call
// needs, that many calls failed with one connection, and whether a new one works.
//
// A connection is tried anew every 100 milliseconds while it is being opened, because a
// packet that was lost is repeated only after a second. After a timeout the idle connections
// to the server are closed, because they may lead nowhere too, which nothing shows.
//
// The dialer returns failed connections instead of errors: see there. A hook (redis.Hook) replies to
// HELLO in place of the server, and sends commands again of which nothing was sent because the
// connection was stale, which the connection itself finds out before the first byte, below TLS too.
// Logins happen in OnConnect, where a second form can be tried.
//
// The pool has twice PoolSize turns, and the queue decides who may use the second half,
// because the pool itself has no way to wait first and open a connection beyond its size
// then.
//
// For sentinels there is a plain client whose dialer asks them for the master. The
// library's failover client uses one dialer and one OnConnect for sentinels and servers,
// so their logins and the statistics can't be kept apart, and it writes to standard
// error.
//
// Expiries are recorded as hashes in a table of 4 MiB. A map would have to be bounded and
// swept.
//
// SET NX PX, INCRBY and PEXPIRE instead of a transaction or a script for new counters: few
// proxies refuse them, users without the right to run scripts can count, and in a cluster
// each can be redirected by itself.
//
// A script has a list of charges in one argument, as binary numbers: in text, the numbers took Redis
// longer than the rest of the script (13.7 instead of 9 microseconds a call, on a busy machine,
// where INCRBY takes 2 and the shortest script with GET and SET 6). States remain text, for people
// who read them: binary states would save a tenth. A state is not written for hits that are refused,
// so a client over its limit costs one GET. The test of the scripts is [ratelimit.Charge.Apply]:
// both get thousands of random charges.
//
// Scripts do not read the time of the server (TIME), they are given it: so [ratelimit.Charge.Apply] can test
// them, programs can test with a clock of their own, and all servers of a cluster have one time.
//
// Functions (FUNCTION LOAD) were turned down, because they need Redis 7, and the right to load them
// on every server. So was INCRBY instead of GET and SET, because it can't refuse.
//
// Cluster is another type than Store because it can't decide for several counters in one
// step, and a type should not have a method that it can't keep.
package redisstore
