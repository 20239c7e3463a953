// Package storetest tests the contract of ratelimit.Store: it contains the suite that every
// store of this module passes, and benchmarks to compare them.
//
//	func TestStore(t *testing.T) {
//		clock := storetest.NewClock()
//		storetest.Run(t, func(*testing.T) ratelimit.Store {
//			return memstore.MustNew(&memstore.Options{Now: clock.Now})
//		}, &storetest.Options{Clock: clock})
//	}
//
// The suite has six layers: basic (one caller), windows (time), concurrency, conditional
// (ratelimit.ConditionalStore), subtract (ratelimit.SubtractStore) and charge
// (ratelimit.ChargeStore, every algorithm against Charge.Apply). Every case states why it must
// hold. The reason is part of the failure message, so that a store can be fixed, or a
// limitation declared, without reading the suite.
//
// # Design notes
//
// The suite skips nothing silently. The zero Options claim the whole contract. A store that
// cannot fulfil a part of it declares that in an option, and the suite tests the rest. Where
// it can be detected, an unnecessary declaration fails too, so that none outlives its reason.
//
// Case.Check returns an error: a case is not a test. So the tests of this package can
// run every case on stores with deliberate defects, and check that it fails. The helpers of cases
// keep the first failure and do nothing after it, so a case is a list of calls with their results.
//
// The suite waits for nothing: it sets the clock of the store if there is one, and otherwise uses
// windows that are current or have just ended. Timers only limit how long a store may hang. One
// case, charge/kept, takes two seconds without a clock: it reads states until they expire.
//
// The package imports the standard library only, so that a store without dependencies that
// is tested with it adds nothing to the go.sum of its importers.
package storetest
