// Package memcachestore keeps rate limit counters on memcached nodes, which any number of
// instances can share.
//
//	store, err := memcachestore.New([]string{"10.0.0.1:11211", "10.0.0.2:11211"}, nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	engine, err := ratelimit.New(store, nil)
//
// # Counting
//
// [Store.Add] reads the counters, calculates the counts, and returns; the counters are
// incremented after that (REFERENCE.md, 6.2). Hits of this Store that have not arrived on
// their node yet are added to what is read, so a single instance counts exactly. Several
// instances together may allow more than the limit, by the hits that they count within the
// duration of an increment. No count is ever too high: nothing within the limit is denied.
//
// While a node is being read or incremented, further work for it is collected: all waiting
// calls are read with one command, and all hits on one counter become one increment. An
// idle Store adds no delay and has no goroutine.
//
// If a node fails after Add has returned, the hits on their way to it are dropped: sent
// again, they might count twice. Stats().Lost is their number.
//
// [Store.Subtract] does the same with decrements, which stop at zero and create nothing. They
// are sent after the increments before them.
//
// [Store.Charge], for limits of other algorithms, reads the state of a key and writes it by
// compare-and-swap: it is exact with any number of instances, and costs two round trips, or one if
// nothing is charged. Charges that arrive during an exchange of their key share the next one, so the
// swaps per second of a key don't grow with its calls. If other instances write the state
// in between eight times in a row, the calls fail with [ErrContended] and have charged nothing.
// An instance waits up to 10 milliseconds, at random, from the third attempt on. A hot key that many
// instances share is a case for Redis.
//
// # Nodes
//
// CRC-32 of the key selects the node from the list, as in the client library of the
// reference service, so its instances can share nodes with this package. The nodes of an
// SRV record are sorted, as in the reference service. A list is used in the order given,
// and must be the same for all instances. [NewSRV] looks up an SRV record at intervals.
// Host names are resolved for each connection, so that a node may move.
//
// If a node fails, the calls with counters on it fail, and no others. No call waits longer
// than Options.Timeout for its counters.
//
// Each node has a breaker. It opens if at least half of the commands have failed over 250
// milliseconds, at least Options.BreakerFailures, and no new connection works meanwhile. Calls
// with counters on the node then fail with [ErrSuspended]. In the background, connections are
// tried after BreakerWait, doubled each time, up to BreakerMaxWait; the first reply to one
// closes the breaker. Replies that are errors are no failures of the node.
//
// # Keys and lifetimes
//
// Keys are those of the engine. memcached accepts keys of up to 250 bytes without
// whitespace and control characters; a call with any other key fails as a whole, with an
// error of kind ratelimit.Invalid.
//
// A counter expires one second after its unit and its jitter, counted from its first hit.
// Lifetimes of more than 30 days are sent as an absolute time, as the protocol requires,
// and depend on the clocks of this machine and the node.
//
// # Design notes
//
// A call joins a read that has not begun, and waits for its result, which all its calls share. A
// counter stays in memory (work.go) from before it is read until its hits have arrived. It has the
// last value known from the node and the hits on their way. A value that is read during an increment
// may or may not include it, but both cases give a lower bound, and the higher bound is exact as long
// as nobody else counts. Adding all pending hits to the value would be simpler and deny too much;
// adding none would allow bursts.
//
// Each node has work of its own: with a common queue, a node that hangs would delay the counters of
// the others. One lock protects the work of all nodes, and nothing waits for the network while it holds
// the lock. So a call joins all its reads in one step, and no read begins between two of its hits; locks
// for each node made every call a list of parts.
//
// A counter has at most one increment under way. So the queue is bounded by the number of
// counters, not of hits, and replies need no ordering. When Options.MaxPending counters
// wait, calls send increments themselves: memory is bounded, nothing is dropped, and
// the callers that cause the load are slowed down. Rejected: failing such calls, because a
// limiter must work under load, and blocking them, because they can as well do the work.
//
// Goroutines start when there is work and end when there is none. Close only has to wait, and a node that
// leaves the list is stopped when the record is looked up and the node has no work.
//
// A value that was read before a decrement is higher than what is on the node. So a counter numbers
// its decrements, and ignores values whose read began before the last one.
//
// States are nine decimal numbers with blanks between them, for people who read them. They
// are kept for whole seconds after [ratelimit.Charge.Expires].
//
// Values are parsed as unsigned 64-bit numbers, with the blanks that memcached appends
// after a decrement. Any other value is an error, not zero: zero would lift the limit.
//
// Commands are sent again in three cases only: those of which nothing was sent, because the
// node had closed the connection, which is checked when a command begins, or because none
// could be opened, for about 300 milliseconds; and reads on a connection that was lost. All
// are the rule after a restart of a node.
//
// The client library grants a timeout for every line of a reply, so connections set their
// own deadline, one for each command (circuit.Conn). It can panic when it parses a malformed
// reply, so node.run recovers.
//
// STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT works by reading first: memcached cannot decide
// over several counters atomically, so the Store is not a ratelimit.ConditionalStore.
package memcachestore
