// Package memcachestore keeps rate limit counters on memcached nodes, which any number
// of instances share.
//
//	store, err := memcachestore.New([]string{"10.0.0.1:11211", "10.0.0.2:11211"}, nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close(ctx)
//	engine := ratelimit.New(store, nil)
//
// # Counting
//
// [Store.Add] reads the counters, decides from what it has read, and returns; the
// counters are incremented after that (specification, matching rule 15). What this
// Store has let in and its node does not show yet is added to what is read. So a single
// instance counts exactly. Several may let in what they count within the time of an
// increment, together more than the limit. No count is ever too high: nothing is
// denied that the limit allows.
//
// A node that is read or incremented already gathers what comes meanwhile: all calls
// that wait are read with one command, and all hits on one counter become one
// increment. An idle Store adds no wait, and has no goroutine.
//
// Hits that cannot be brought to their node any more, because it has failed after the
// call was answered, are given up: sent again they might count twice. Stats().Lost
// tells how many.
//
// # Nodes
//
// A counter is on the node that CRC-32 of its key picks from the list. Clients of the
// same family find it there, if they are given the same list in the same order: that
// goes for instances of the reference service, so both can share nodes. The nodes of an
// SRV record, which come in any order, are sorted, as they are there. A list is not: a
// fleet of both kinds would be given one list and count in two places. [NewSRV] takes such
// a record, and follows it. Names are looked up for each connection, so that a node may
// move.
//
// If a node fails, so do the calls that have counters on it, and no others. No call
// waits longer than Options.Timeout for its counters.
//
// # Keys and lifetimes
//
// Keys are those of the engine. memcached takes keys of up to 250 bytes without
// whitespace and control characters; a call with another one fails as a whole, as the
// caller's fault (specification, Errors 5).
//
// A counter lives as long as its unit and its jitter from its first hit on, and a second
// more. Lifetimes of more than 30 days are given to memcached as the moment of their
// end, as its protocol wants it; the clocks need not agree better than that.
//
// # Design notes
//
// The counter of a call is kept in memory from before it is read until its hits have
// arrived (counter.go). It holds what the node was last known to hold and what is on its
// way there. Of a value that is read while an increment is under way nobody can tell
// whether it holds that; but it is one of two, and both give a lower bound. The higher
// of the two is exact as long as nobody else counts. Adding all pending hits to what is
// read would be simpler and deny too much; adding none would let a burst through.
//
// Everything that waits, waits per node (lane.go). With common queues one node that
// hangs would hold up the counters of the others.
//
// There is one increment under way for a counter at a time. So the number of those that
// wait is that of different counters, however many hits come, and the order of
// answers is no question. When Options.MaxPending wait, calls do their increments
// themselves: memory is bounded, nothing is thrown away, and who brings the load feels
// it. Turned down: failing such calls, since a limiter that fails when it is busy is no
// help, and blocking them until there is room, since they can as well do the work.
//
// Goroutines start when there is something to do and end when there is not. Close has
// only to wait, and a node that is taken out of service needs no further thought.
//
// Counters are read as unsigned 64-bit numbers, with the blanks that memcached leaves
// behind one that was decremented. Whatever else is there is an error, not zero: zero
// would lift the limit.
//
// One command is sent again: one that was not sent, because the node had closed the
// connection before, which is looked for when a command begins; and a read that was cut
// off. All connections of a node that was restarted are of that kind.
//
// The client library grants a timeout for every line of an answer. Connections set their
// own deadlines instead, one for a command. It may also panic over an answer from what
// is no memcached, so it is guarded.
//
// STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT works by reading first: memcached has no way to
// decide over several counters at once, so the store is no ratelimit.ConditionalStore.
package memcachestore
