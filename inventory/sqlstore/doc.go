// Package sqlstore keeps an inventory in a database, through database/sql. It imports no
// driver: sqlstore/sqlite and sqlstore/postgres do.
//
//	store, err := sqlite.Open(ctx, "inventory.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	v := inventory.New(store, nil)
//
// Tables, columns, statements and scans are made from the descriptions of the resources
// (inventory.Kept). A new field is a line in its struct, and a migration with the same
// column in each of the directories of migrations; a test compares the two, and says what line
// is missing.
//
// For another database, write a [Dialect], its migrations, and an Open of your own that ends
// in [New].
//
// # What is in the database
//
// Each resource has a table, with its unique keys, references and checks. A text without a
// value is empty, and null is for what is a pointer in Go. Texts compare by their bytes.
//
// The table tallies has how many records there are, and how many have each value of the
// fields with the word tally: exact, and changed in the transactions that change the
// records. So a total costs the same at a thousand records as at a million. Who changes
// records by other means, in SQL, has to change the tallies too. Tallies of values that no
// record has any more stay, as zeros.
//
// A field that gets the word tally later needs a migration that counts what is there:
//
//	INSERT INTO tallies (resource, field, value, slot, n)
//	SELECT 'devices', 'role', role, 0, count(*) FROM devices GROUP BY role;
//
// # Replicas
//
// A store may write to one database and read from another that follows it. [Store.Fresh] reads
// from the first, and so does what is read in a transaction.
//
// # Migrations
//
// They run when a store is opened, under a lock, so that several processes may start at
// once. A database that is newer than the program is refused. Migrations are never changed
// once they are released: what a later version needs, it adds in a file of its own.
//
// # Errors
//
// Broken keys and references are inventory.Conflict and inventory.Invalid, with the fields. A
// database that can't be reached, is full or locked, or goes away in the middle of a call, is
// inventory.Unavailable; the next call connects anew. Transactions that the database gives
// up for others to go on are run again, a bounded number of times.
//
// # Design notes
//
// What differs between databases is data: a [Dialect] has a field for each difference, and
// the statements are the same for all. A branch on the name of a database would have to be
// found again for the next one.
//
// A list is one statement: the page, and in its last column the total. So both are of one
// moment, and there is one round trip and no transaction. A window function for the total
// would have the database read all rows of the filter; a second statement would need
// a transaction around both. Only an empty page behind the first has no row for the
// total, and takes a transaction.
//
// A page behind a cursor is put together from parts that an index can find, one for each
// column that may come later (UNION ALL): with OR between them databases read the index
// from its beginning.
//
// Tallies and not triggers: a trigger runs for each row, in a language of each database, and
// not in all of them. One transaction writes each tally once, however many records it
// changes, at its end and in the order of their keys, so that two never wait for each
// other in a circle. In a database with several writers a tally is spread over slots, of
// which a transaction takes one at random, so that they seldom wait for each other at
// all. An estimate from the planner would be quicker still, and not exact; a count that
// is cached would be wrong as soon as a second process writes.
//
// What goes with a deleted record is removed by the store and not left to the database, which
// would do it as well: it has to be counted, and what loses a reference has to get a new
// version.
//
// An update changes the columns that differ from what the transaction has read before. It
// need not read again: a version of a record never changes, and the update is for that
// version only. Columns that stay as they are cost no index, and a change of no key needs no
// savepoint.
//
// In PostgreSQL a broken constraint ends the transaction, and the contract wants it to go
// on. So what may break one has a savepoint before it, once for a call however many
// records it has. To ask first whether a key is taken would cost as much, and could be
// wrong a moment later.
//
// Transactions that change several records each may wait for each other crosswise. The
// database finds out after a second, and gives one up. Within a store they take turns
// instead; between processes the database decides, and the loser runs again.
//
// SQLite has no statistics unless somebody collects them, and takes any index for a filter
// that it finds. For a filter that most records meet, going through the records in their
// order is much quicker; the tallies tell which it is.
//
// Rows are scanned into values as the driver has them, and put into records by the kind of
// the field. Scanning into the fields would take database/sql through reflection for each
// type of its own that a field has.
//
// There is no library for building SQL here: the statements are few, their parts are fixed
// texts, and the names in them come from the descriptions and from nowhere else.
package sqlstore
