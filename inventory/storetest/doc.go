// Package storetest is the contract of inventory.Store as tests.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(testing.TB) inventory.Store { return inventory.NewMemStore() })
//	}
//
// The suite has layers: basic (one caller, one record), constraint (keys and references),
// reference (what deleting does to others), transaction, list (queries), page (sorting
// and paging), concurrency (callers that come in each other's way), and model (random
// calls, compared with a store that is too simple to be wrong). Each case says why it must
// hold, and that is part of the failure.
//
// # Design notes
//
// Records, keys, references and filters are made from the descriptions of the
// resources. A field that is added to one is tested by that.
//
// A case is a function of a store and not a test: so the suite's own tests run it against
// stores that are broken on purpose, and demand that it notices.
//
// The cases share a few stores, as many as layers run at once, which are emptied by their own
// means after each case. To open one for each case would take a database longer than the
// cases do, and a store that can't be emptied, or that remembers what it had, has a defect.
//
// Random calls are always the same ones. A suite that fails now and then teaches people to
// run it again.
//
// Every store passes the whole suite. There is nothing to declare and nothing that is
// skipped, for the contract has no part that one could do without.
package storetest
