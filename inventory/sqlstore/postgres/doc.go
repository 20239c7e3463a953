// Package postgres opens an inventory in PostgreSQL, version 12 or later.
//
//	store, err := postgres.Open(ctx, "postgres://ashlar@db.example.org/inventory", nil)
//
// The settings of the address are those of the driver (sslmode, application_name,
// connect_timeout and the rest), and of its environment (PGPASSWORD, PGSSLROOTCERT). The
// user needs to own the schema, for the migrations.
//
// With Options.ReadURL, reading goes to a database that follows the first one. It is a
// moment behind: what was just written may not be found there yet. Changes, and what they
// read, are not affected.
//
// # CockroachDB and YugabyteDB
//
// The statements keep to what these accept too: keys are texts and not sequences, there
// are no triggers, no functions of our own, no full-text indexes, no arrays,
// no domains and no partitions; upserts are INSERT .. ON CONFLICT; transactions that
// can't be serialized are run again. CockroachDB's own parser has read every statement that
// the store and its migrations send in the tests of this package, and refused none but for
// the collations. No test runs on servers of the two.
//
// These differences are known. The migrations say COLLATE "C" of columns, which CockroachDB
// refuses, and does not need, as it compares texts by their bytes: Open leaves it out there.
// What looks for a part of a text folds letters other than ASCII there as well. The lock for
// migrations is an advisory one, which CockroachDB accepts and does not hold: let one process
// alone open a new database there first. Older versions of YugabyteDB refuse such locks unless
// they are told to pass over them. And YugabyteDB spreads an index by a hash of its first
// column unless it is told otherwise: pages are right then, and slow.
//
// # Design notes
//
// Texts have the collation "C", so that they compare by their bytes, as the inventory does
// (see inventory.Query), whatever locale the database was made with. Cursors depend on it: a
// locale that is updated would put records into another order.
//
// Times are timestamptz, for people who look at them; they are read in UTC.
//
// The driver keeps prepared statements itself, for each connection, so the store does not. Behind
// a proxy that shares connections between clients, set default_query_exec_mode=exec in the
// address.
//
// There is one pool for reading and writing, unless there is a replica. Reading can't starve
// writing for long, since a list is one statement.
package postgres
