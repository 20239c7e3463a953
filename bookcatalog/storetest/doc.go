// Package storetest is the contract of bookcatalog.Store as tests.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) bookcatalog.Store { return bookcatalog.NewMemStore() })
//	}
//
// The suite has four layers: basic (one caller, one book), list (queries), concurrency
// (callers that come in each other's way), and model (random calls, compared with a
// store that is too simple to be wrong). Each case says why it must hold, and that is part
// of the failure.
//
// # Design notes
//
// A case is a function from a store to an error, not a test: so the suite's own tests run
// it against stores that are broken on purpose, and demand that it notices.
//
// Every store passes the whole suite. There is nothing to declare and nothing that is
// skipped, for the contract has no part that one could do without.
package storetest
