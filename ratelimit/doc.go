// Package ratelimit decides in the process whether a request is within its limits. It is
// the engine of this module's rate limit service and imports the standard library only.
// REFERENCE.md describes the rules that it follows.
//
// # One limit, many keys
//
// A [Limiter] holds each key to one limit:
//
//	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Minute), nil)
//	...
//	status, err := limiter.Allow(ctx, clientID)
//	if err == nil && !status.Allowed() {
//		// try again after status.RetryAfter()
//	}
//
// Packages httplimit and grpclimit put it in front of handlers.
//
// # Rules
//
// An [Engine] applies rules. A [Domain] is a tree of rules; a [Request] names the domain
// and holds descriptors, lists of key/value pairs that are matched with the tree level by
// level. Rules are plain data, from Go, from YAML (package config) or from a configuration
// server (package xds):
//
//	rules, err := ratelimit.Compile([]ratelimit.Domain{{
//		Name: "api",
//		Rules: []ratelimit.Rule{
//			{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 10, Unit: ratelimit.Second}},
//			{Key: "path", Value: "/login", Rules: []ratelimit.Rule{
//				{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Minute}},
//			}},
//		},
//	}}, nil)
//
//	engine, err := ratelimit.New(memstore.MustNew(nil), nil)
//	err = engine.Use(rules)
//
//	decision, err := engine.Decide(ctx, &ratelimit.Request{Domain: "api", Descriptors: []ratelimit.Descriptor{
//		{Entries: []ratelimit.Entry{{Key: "path", Value: "/login"}, {Key: "client", Value: clientID}}},
//	}})
//	if err == nil && decision.Code == ratelimit.OverLimit {
//		// decision.Tightest() is the limit, decision.RetryAfter() the time to wait
//	}
//
// [Engine.DecideInto] reuses a Decision and allocates nothing. [Compile] reports all
// faults at once, and warnings for likely mistakes. The result is immutable; [Engine.Use]
// activates it atomically, and calls in progress finish with the previous rules.
//
// [Limiter.Wait] waits until the limit lets a hit pass: a worker that must not exceed a limit of
// somebody else calls it before each call of theirs. Callers pass in the order in which they came, with a token
// bucket in Redis also those of several processes.
//
// # Algorithms
//
// A [Limit] counts by an [Algorithm]: in fixed or sliding windows, as a bucket of tokens, or the
// requests in progress:
//
//	ratelimit.Limit{RequestsPerUnit: 100, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 20}
//	ratelimit.Limit{RequestsPerUnit: 10, Unit: ratelimit.Minute, Algorithm: ratelimit.Concurrency}
//
// A permit of the second is released with [Decision.Release], which packages httplimit and
// grpclimit call; one that is not is free again after a minute. All but fixed windows need a
// [ChargeStore], which the stores of this module are. [Engine.Use] refuses rules that the store of an engine
// can't hold.
//
// # Reservations
//
// The cost of some work is known when it has ended: tokens of a language model, bytes. [Limiter.Reserve] charges an
// estimate, and [Reservation.Settle] what it was; both need a [Limit] with Reservations:
//
//	tokens, err := limiter.Reserve(ctx, customer, estimate, 2*time.Minute)
//	if err == nil && tokens.Status.Allowed() {
//		defer func() { uncharged, err = tokens.Settle(ctx, used) }()
//		// stream the answer
//	}
//
// What was used above the limit is debt, which later windows pay. What a crashed program has reserved is
// free again after the two minutes.
//
// # Counters
//
// Windows of fixed limits are aligned to the Unix epoch or to a calendar, see [Align], and
// one or several units long. A counter belongs to one window, whose start is part of its key.
// Keys are those of the reference service, envoyproxy/ratelimit, so that both can count in one
// store (REFERENCE.md, 3). Counters are in a [Store]: in
// the process (package memstore) or behind a network. An Engine can have a second store
// for limits per second, and an [OverLimitCache] that saves calls for counters that are
// known to be over their limit.
//
// Denial is a value, failure is an error: an [*Error] means that the request is invalid,
// that the engine has no rules, or that a store failed. By default a store failure fails
// the call; a [FailurePolicy] can instead pass single descriptors, deny them, or count them
// in another store.
//
// [Engine.Counters], [Engine.ResetCounters] and [Engine.Refund] read and change the counters that a
// request is held to, for operators.
//
// # Statistics
//
// The engine counts in a [Stats], one [LimitStats] for each statistics key. Keys and
// arithmetic are those of the reference service. The number of names that come with
// requests is bounded, see Options.MaxRequestStats. A limit can have a [Candidate] beside it, which is
// decided and counted and never enforced. [Engine.TopKeys] lists the keys with the greatest numbers.
//
// # Design notes
//
// The files read top down, in this order: limiter, inspect*, decide_plain, decide,
// decide_release, reserve, decide_failure, decide_count, topkeys, decide_workspace, engine, stats, compile*,
// fields_check, match, error, decision, fields, algorithm*, ledger, charge, store, window, keys, rule, match_glob. Few names are used
// by a file after the one that declares them.
//
// Keys and values are matched separately. The reference service joins them with an
// underscore first, so that there a rule for key "a_b" also matches the entry a=b. Two
// things use the joined form here too, because counters and statistics are named so:
// duplicate rules, and rules with a star in their key.
//
// The clock of the system, or of a [ClockStore], is read once a second: reading it can cost as much as the rest of a
// decision, and windows begin at full seconds. A timer that is set only while decisions
// are made ends the second; window.go documents how late it may be. An injected clock is read
// for every decision.
//
// A [Decision] contains its own workspace. Callers who keep one per goroutine pay for no
// allocation, and there is no hidden pool. Limiter has a pool, because its callers have
// no Decision.
//
// Stores get all hits of a request in one slice and fill in the counts. One method call
// per key, which most libraries have, would cost a round trip per descriptor. An optional
// [ConditionalStore] exists because only a store can make a comparison and an addition one
// atomic step.
//
// What a match needs of a rule fits in one cache line, rules lie beside their siblings, and
// siblings share the plan of their counter keys. Among ten thousand exact siblings a decision takes 1.14
// times the instructions that it takes by one rule, and among ten thousand wildcards 1.4 times, but 1.5 and
// 1.75 times its time, 124 and 142 ns instead of 82 (BenchmarkSiblings): it misses the first cache 2.5 and
// 4 times more. These are the slot of the index, the rule and its text, which depend on each other,
// and the pattern. Without the comparison of the text it would be 1.4, but a hash must not decide which rule applies.
//
// Wildcards are indexed by the rarest literal that a match must contain (match_glob.go), so that
// thousands of them are not compared one after the other.
//
// Nearly all requests have one descriptor, whose rule has nothing but a limit of a unit's fixed
// window or of another algorithm. decide_plain.go decides those in one pass; a test compares it with the path for
// any request. Without it a decision by one rule takes 1.6 times the instructions, 1,680 instead of 1,050, and
// one by a token bucket 1,530 instead of 930 (BenchmarkDecide/1_rule, BenchmarkCharge; callgrind).
//
// A [FailurePolicy] belongs to a rule, so the engine applies it. Detecting that a store has
// failed is the store's job: redisstore and memcachestore have a circuit breaker for each server.
//
// A field of a rule is one row in fields.go: files, discovery, /rlconfig, explanations, the console and the reference
// iterate that table ([Fields]), and fields_check.go says which values go together.
//
// An algorithm is arithmetic on a few whole numbers, which a [ChargeStore] keeps by key and changes in
// one atomic step. The numbers stay below 2^53, so that a script of Redis computes the same as Go.
// A further algorithm is one value in one file (such as algorithm_token.go), an entry in the list of
// algorithm.go, and one script in store/redisstore: memstore and memcachestore call [Charge.Apply]. The value
// says what limits may have and what a store must do: pages, reports and other packages ask it, as
// [Algorithm.HasWindows], and compare no names. The cases of storetest run for every algorithm by
// themselves.
//
// A limit with reservations has a value that only Go computes (ledger.go), from the State of its algorithm and what is
// reserved: a [LedgerStore] has nothing to know about it, and Redis replaces it if it has not changed. One more way to the
// server is little beside work that is long enough to be reserved for.
//
// A sliding window is two weighted counters and not a log of hits: a log needs memory for each hit, and
// what the counters allow beyond an exact log is bounded (see [SlidingWindow]). A permit of a
// concurrency limit has no owner, because the protocol gives a hit none: a release without a known
// age releases the oldest. So a lost permit expires after the unit only if fewer requests than
// are counted began in it; the age of those that Decision.Release releases is known.
//
// Time in microseconds is read for charges only: reading the clock costs 25 ns. A decision by a token
// bucket takes 1.2 times the instructions of one by a fixed window. It takes 1.15 times its time with
// 100,000 keys, and 1.3 to 1.4 times with 10,000. With one key it is 1.5, 99 ns beside 67: the clock alone
// makes it 1.4, and without the clock it would be 1.1 (BenchmarkTokenBucket).
//
// Top keys come from two sketches for each rule, of 64 keys each (topkeys.go): one by hits and one
// by refusals, because a client that is over its limit may have few of all hits. The engine samples
// no more than some 8,192 decisions a second: a sample costs about as much as a decision, and up to 500 ns
// with thousands of rules, whose sketches are in no cache. That is at most half a percent of a core. Drawing
// whether to sample costs about 2 ns. Together it is 1 to 3 % of a decision of a busy engine (BenchmarkTopKeys).
//
// Rejected: a lookup table keyed by whole descriptors, which values chosen by clients would fill.
package ratelimit
