// Package leasestore lets instances that share a store decide most hits in memory. An
// instance claims hits of a fixed window or tokens of a bucket ahead, and decides from these.
// What it does not use of a window it gives back. Together the instances never admit more than the limit.
//
//	store, err := redisstore.New(address, nil)
//	leases, err := leasestore.New(store, nil)
//	defer leases.Close() // before the store
//	engine, err := ratelimit.New(leases.Store(), nil)
//
// Leases are for limits that have Limit.Lease (lease: true in a configuration), or for all with
// Options.All. They pay for keys with many hits: one call of the store decides hundreds. A key
// that comes less than 32 times a second is counted as without leases, one call for each hit.
//
// # Claims of fixed windows
//
// A claim is added to the increment that the hit needs: n hits are added with N = n + extra. The
// store returns the count C after that, so the hit itself has the count C - extra, as without
// leases, and of the extra hits those up to the limit L belong to the instance:
//
//	ours = min(extra, max(0, L - (C - extra)))
//
// The rest was counted above the limit in vain and is given back. extra is the demand of the last
// claim's time for the time Options.Ahead, at most four times the last claim, and at most
// 1/32 of what was left in the window, so that claims shrink to nothing as the limit
// nears and the last hits of a window are counted one by one. Callers that find the lease used up
// wait for one claim together. It is made in a goroutine of its own, so that a caller that gives
// up does not lose it.
//
// A timer, of which there is one while something is claimed and none otherwise, reviews the
// leases. What is not in demand is given back within Options.Ahead, with [ratelimit.SubtractStore].
// If the inner store is none, unused claims are lost until their window ends; they are a
// sixteenth as large then.
//
// Once a counter with many hits has reached its limit, further hits are refused without a call and
// not counted. As other instances may give back, the store is asked again, without counting,
// after a quarter of Ahead, and at intervals that double up to four times Ahead.
//
// # Why the limit of a window holds
//
// Let C be the counter in the store, A the hits admitted by all instances, with leases and without,
// and H the claimed hits that an instance may still admit. Then always
//
//		A + H <= min(C, L)
//
//	  - A hit without a lease changes C by n and, if the new C is at most L, A by n.
//	  - A claim adds extra to C, and to H only what lies between the old C and L. So A + H grows by no
//	    more than C, and stays at most L because it was at most the old C.
//	  - Deciding from a lease moves hits from H to A, in one atomic step.
//	  - Giving back first removes k hits from H and then subtracts k from C. Hits that were counted
//	    above the limit in vain were in C and never in H.
//	  - A claim whose reply is lost may be in C and never is in H. Giving back is never
//	    repeated: if its reply is lost, the hits are not in H any more, and C may be too large, but
//	    not too small. The same is true if an instance crashes, stalls or is cut off at any moment.
//
// A lease of a window belongs to a counter, whose name has the window, and to one limit. It is used for hits of
// that window and limit only, so clocks of instances may differ, and a limit that changes starts
// with a lease of its own.
//
// So A <= L. At most the claims of crashed instances, and those whose replies were lost, are
// missing (Stats().Lost), and only until the window ends. Two things are beyond the proof because
// they change C without the instances: a store that loses its counters, and a counter that is reset
// ([ratelimit.Limiter.Reset]) by another instance. What is in H then comes on top, once. Without
// leases a store that loses its counters admits as much again, too.
//
// The store's additions must be atomic and return exact counts. memcachestore's are neither.
//
// # Token buckets
//
// The state of a token bucket is the time at which it will be full. Each token that is charged moves that
// time by the time in which one token comes, so it has a position in a schedule: the step by which it
// moved the time. A token that is claimed may be used until its position begins, and is dropped then.
//
// So the limit holds. The positions are disjoint; none begins before its token is used, and none ends
// later than the time of a full bucket after that. Of the tokens that are used in any time t, the
// positions lie within t and the time of a full bucket: there are no more of them than come in t, and
// fit in a bucket. No token need be given back, because one that is dropped is one that would have
// come while the bucket was full. A claim whose reply is lost, or whose instance crashes, is
// missing (Stats().Lost) until the bucket is full again. Instances without leases are right too.
//
// A claim is the demand of the time Ahead, or of 1/8 of the time in which the bucket fills if that is
// shorter, and at most a quarter of its tokens. So it begins with buckets of 64 tokens, and with at least
// 16 hits expected in that time; a claim of which less than four hits could be used in time is not
// made. If few tokens are left, the claim goes in parts, each half of the rest, in the same
// call of the store: those that fit are charged, so that one call gets what there is. The hits
// of the call come before the claims.
//
// If nothing is left in the bucket after that, further hits are refused without a call, until one is worth
// it: for a quarter of Ahead, or the time of 256 hits, up to four times Ahead, and at most a quarter of the
// time in which the bucket fills, so that no token is lost. This is where leases refuse hits that
// would pass without them: an instance that found the bucket empty refuses hits for so long, even if
// tokens have come. And claims of others, up to about a quarter of the bucket, seem used. So if
// the demand is at most half of the rate, and comes in groups of at most a quarter of the bucket,
// nothing is refused.
//
// Times are those of the charges. A clock that is set back uses nothing that was claimed later. Hits that are
// given back move all positions after them to the front, those of claims too: an instance does that with
// its own claims, and can't with those of others. So up to as many hits as are given
// back may come on top, once, if others have claimed that many.
//
// # What callers see
//
// The Count of a hit decided from a lease is the counter's value after the last claim less what is
// left of the lease: the hit's own position in the window, but for hits of several at once. It is
// at most the limit, so statistics are as usual. The remaining hits of a status are those that were left in the window at the last claim,
// less those that the instance has admitted since; others may have claimed them. A Count above
// the limit is one that was seen or would follow.
//
// Instances without leases on the same counters, of this program or of others, count right. To
// them hits that are claimed seem used.
//
// While the store fails, leases go on deciding until they are used up, and full windows stay
// full. Claims start small again after a failure.
//
// With Options.StopIncrementWhenOverLimit of the engine, hits that a lease covers are withdrawn from it
// first, and put back if another hit of the request is over its limit.
//
// # Design notes
//
// The hot path is a lookup in a table without locks and one compare-and-swap: a lease's
// value and what is left of it are one 64-bit word. A key enters the table when it is seen, at
// first without memory of its own; leases with claims stay until nothing is claimed, others make room for
// new keys. If there is no room, hits go to the store.
//
// Token buckets are in a table with locks: a decision changes several numbers. One call at a time
// claims for a bucket; others wait for it once.
//
// Rejected: giving tokens back. The positions of other claims would move, and tokens could be used when
// their positions have begun. Claims through AddUnlessOver, which never pass the limit but need a script and, when
// they fail, a second call. A script that claims and shrinks in the store, for the same reason and
// because every store would need one. Leases with an expiry in the store, from which what
// crashed instances hold would come back: with clocks that differ, a stalled instance
// could use a lease that another has already got.
package leasestore
