// Package sqlstoretest is what the tests of every database of sqlstore have in common, beyond
// the contract that inventory/storetest has for any store: totals that are kept, the latest
// of several records, databases of earlier schemas, and what the store costs beside statements
// that are written by hand.
//
//	func TestTallies(t *testing.T) { sqlstoretest.CheckTallies(t, open(t)) }
//
// Who writes a dialect for another database can hold it against the same.
//
// # Design notes
//
// It knows inventory.Store and database/sql and not sqlstore, so that the tests of sqlstore
// itself could use it too.
package sqlstoretest
