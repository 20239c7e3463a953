// Package ratelimit decides in-process whether a request is within its limits. It is
// the engine under the rate limit service of this module, and needs nothing but the
// standard library.
//
// # One limit, many keys
//
// The short form is a [Limiter]: so many hits per unit for each key.
//
//	limiter, err := ratelimit.NewLimiter("clients", memstore.New(nil), ratelimit.Per(100, ratelimit.Minute), nil)
//	...
//	status, err := limiter.Allow(ctx, clientID)
//	if err == nil && !status.Allowed() {
//		// try again in status.Reset()
//	}
//
// Package httplimit makes net/http middleware of it.
//
// # Rules
//
// The long form is an [Engine] with rules. A [Domain] is a tree of rules; a
// [Request] names the domain and brings descriptors, lines of key/value pairs that
// are matched against the tree level by level. Rules are plain data, whether they
// come from Go, from YAML (package config) or from a configuration server:
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
//	engine := ratelimit.New(memstore.New(nil), nil)
//	engine.Use(rules)
//
//	var d ratelimit.Decision // may be used again and again
//	err = engine.DecideInto(ctx, &ratelimit.Request{Domain: "api", Descriptors: []ratelimit.Descriptor{
//		{Entries: []ratelimit.Entry{{Key: "path", Value: "/login"}, {Key: "client", Value: clientID}}},
//	}}, &d)
//	if err == nil && d.Code == ratelimit.OverLimit {
//		// d.Tightest() says by which limit, and for how long
//	}
//
// [Compile] reports everything that is wrong at once, and has warnings for what is
// hardly meant. The result is immutable; [Engine.Use] puts it to use atomically, and
// calls under way finish with the rules they began with.
//
// At each level the rule with the entry's key and exact value comes first, then
// wildcards in the order of the configuration, then the rule with the key alone.
// There is no way back from a rule that matched, and only a limit at the depth of
// the last entry counts. Every descriptor is decided for itself, and the request
// is over limit if one of them is. [Rule] and [Options] say what else there is:
// shadow mode, quota mode, limits that replace others, shared thresholds, and what
// becomes of a descriptor that can't be counted.
//
// # Counters
//
// Windows are fixed, and aligned to the Unix epoch. A counter belongs to one window:
// its key ends in the window's start, and is bit for bit that of the reference
// service, envoyproxy/ratelimit, so both can count in one store. Where counters
// live is up to a [Store]: in the process (package memstore) or behind a network.
// An Engine can have a second store for limits per second, and an [OverLimitCache]
// that spares the store the question about counters known to be over.
//
// Denial is a value, failure is an error: [Engine.Decide] fills a [Decision], and
// returns an [*Error] only for a request that makes no sense, an engine without
// rules, and a store that failed. Whether to let a request pass that could not be
// counted is the caller's choice, or that of a [FailurePolicy]: by default the whole
// call fails, and a policy may let single descriptors pass, deny them, or count them in
// another store.
//
// # Statistics
//
// The engine counts into what a [Stats] hands out, one [LimitStats] for each
// statistics key. Keys and arithmetic are those of the reference service. Names that
// come with requests are bounded, see Options.MaxRequestStats.
//
// # Design notes
//
// Keys and values are matched apart. The reference service joins them with an
// underscore first, so that there a rule for key "a_b" also takes the entry a=b,
// and values of "a" match patterns of "a_b". The specification says that a value
// narrows a key, and so it is here. Two things stay joined, because counters and
// statistics are named so: duplicates are looked for in the joined form, and a rule
// with a star in its key is matched against key_value.
//
// The clock is read once a second. Reading it can cost as much as the rest of a
// decision, and a window cannot begin in the middle of a second. A timer that is
// set only while decisions are asked for ends the second; see clock.go for how late
// it may be. An injected clock is asked every time.
//
// A [Decision] brings its own workspace. Callers who keep one per goroutine pay
// for no allocation, and nothing is hidden in a pool that the callers don't know of.
// Limiter, which can't ask that of its callers, has a pool.
//
// Stores get all hits of a request in one slice and fill the counts in place. A
// method per key, which most libraries have, would cost a round trip per descriptor
// in a store behind a network. An optional [ConditionalStore] exists because only
// the store can make a comparison and an addition one step.
//
// What a match needs of a rule lies on one cache line, rules beside their siblings,
// and siblings share the plan of their counter keys: among ten thousand rules a
// decision takes 1.3 times what it takes with one, and the difference is three cache
// misses.
//
// Wildcards are filed under the rarest literal that a match must hold (globindex.go),
// so that thousands of them are not tried one after the other.
//
// A [FailurePolicy] is decided in here because it is a rule's, and only the engine knows
// which rule a descriptor met. When a store has failed is not: package store/breaker
// keeps calls away from one that does not answer.
//
// Turned down: sliding windows and token buckets, which can't be counted by plain
// increments and so not be shared with the reference service; and a lookup table keyed
// by the whole descriptor, which caller-chosen values would fill.
package ratelimit
