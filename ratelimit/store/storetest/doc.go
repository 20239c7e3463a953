// Package storetest is the contract of ratelimit.Store as tests: the suite that
// every store of this module passes, and the benchmarks they are compared by.
//
//	func TestStore(t *testing.T) {
//		clock := storetest.NewClock()
//		storetest.Run(t, func(*testing.T) ratelimit.Store {
//			return memstore.New(&memstore.Options{Now: clock.Now})
//		}, &storetest.Options{Clock: clock})
//	}
//
// The suite has five layers: basic (one caller), windows (time), concurrency,
// conditional (ratelimit.ConditionalStore) and subtract (ratelimit.SubtractStore). Every case says why it must hold; that
// is part of the failure, so that a failing store can be mended, or its
// shortcoming be declared, without reading the suite.
//
// # Design notes
//
// Nothing is skipped in silence. The zero Options claim the whole contract; a
// store that can't keep a part of it says so in an option, and the suite then
// tests what is left. A store that keeps what it declares it can't fails as well,
// wherever that can be seen: a declaration must not outlive its reason.
//
// A case is a function from a store to an error, not a test. This is how the
// suite's own tests can run every case against stores that are broken on purpose
// and demand that it notices; a suite that has never failed proves nothing.
//
// Time is data. The suite never waits: it drives the store's clock where the
// store lets it, and keeps to windows that are current or just over where it does
// not. Timers only bound how long a store may hang.
//
// The standard library is enough: a store that needs no other module, tested by
// this package, adds no line to the go.sum of those who import it.
package storetest
