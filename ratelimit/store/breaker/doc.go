// Package breaker stops calls to a counter store that is failing. Without it every call
// waits for a timeout; with it calls fail at once, and the engine applies its failure
// policy (ratelimit.FailurePolicy).
//
//	b := breaker.New(remote, nil)
//	engine := ratelimit.New(b.Store(), &ratelimit.Options{
//		OnStoreFailure: ratelimit.FailLocal, Fallback: memstore.New(nil),
//	})
//
// It is for stores of your own. Packages redisstore and memcachestore have breakers inside:
// one for each server, which see connections rather than calls.
//
// The breaker opens if at least half of all calls have failed over [Evidence], and at least
// Options.Failures. While it is open, calls fail with [ErrOpen]. After a wait one call is let
// through as a probe: if it succeeds, the breaker closes; if it fails, the breaker stays open
// for twice as long as before, up to a maximum. [Breaker] reports its state for statistics and
// health checks.
//
// # What counts as a failure
//
// Every error of the store except these: the caller has given up (context.Canceled), the
// request is invalid (ratelimit.Invalid), and the store was not asked because this process
// has too many calls under way (ratelimit.ErrOverloaded). A call that exceeds its deadline
// does count, because that is how a store that hangs appears.
//
// # Design notes
//
// Evidence over time, not a number of failures in a row: calls under way fail together when
// one connection breaks, while the store is there.
//
// A probe is an ordinary call, so there is no goroutine and nothing to close. Its caller
// may have to wait for a timeout; the others do not.
//
// New returns a *Breaker and not a store, because one concrete type can't be a
// ratelimit.ConditionalStore only if the store behind it is.
//
// While the breaker is closed, a call that succeeds takes no lock and writes no memory.
package breaker
