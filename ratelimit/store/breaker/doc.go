// Package breaker keeps calls away from a counter store that does not answer. Without
// it every call waits for a timeout first; with it calls fail at once, and what is to
// become of them is for the engine's policy to say (ratelimit.FailurePolicy).
//
//	store, control := breaker.New(redis, nil)
//	engine := ratelimit.New(store, &ratelimit.Options{
//		OnStoreFailure: ratelimit.FailLocal, Fallback: memstore.New(nil),
//	})
//
// It opens after a number of failures in a row. While it is open calls fail with
// [ErrOpen]. After a while one call is let through as a probe: if it succeeds, the breaker
// closes; if not, it stays open for twice as long as before, up to a bound. The [Breaker]
// that comes with the store tells how things are, for statistics and health.
//
// # Design notes
//
// Failures in a row, not a rate: a store that answers some calls is better asked, and a
// caller whose own deadlines are too short can't open the breaker as long as others get
// answers in between. A call that its caller gave up says nothing about the store and
// does not count, and neither does one that the store refuses as invalid; one that ran
// out of time does, because a store that hangs looks just like that.
//
// A probe is a call like any other, so there is no goroutine and nothing to stop. The
// caller whose call it is may wait for a timeout, once in a while; the others don't.
//
// While it is closed, a call that succeeds takes no lock and writes nothing.
package breaker
