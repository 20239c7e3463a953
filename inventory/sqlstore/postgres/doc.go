// Package postgres opens an inventory in PostgreSQL, version 12 or later.
//
//	store, err := postgres.Open(ctx, "postgres://ashlar@db.example.org/inventory", inventory.Schema(), nil)
//
// The driver defines the parameters of the URL (sslmode, application_name, connect_timeout
// and others), and the environment variables that it reads (PGPASSWORD, PGSSLROOTCERT). The
// user must own the schema, to migrate it.
//
// A URL may have several hosts, for failover:
//
//	postgres://ashlar@db1.example.org,db2.example.org/inventory?target_session_attrs=read-write
//
// A new connection then goes to the host that accepts changes. Each host has 3 s to respond, or the
// connect_timeout of the URL. Acknowledged changes survive a failover only with synchronous
// replication.
//
// With Options.ReadURL, lists and single records are read from a replica. It lags behind: a
// record that was just written may be missing or old there. Changes, and what they read, use
// the database itself.
//
// A program that has a pool of its own opens the inventory with [New].
//
// # Design notes
//
// Strings have the collation "C", so that they compare by their bytes, as records.Query
// demands, whatever the locale of the database. Cursors depend on it: an update of a locale
// would change the order of records.
//
// Times are timestamptz, so that they are readable in psql. The store reads them in UTC.
//
// The driver caches prepared statements per connection, so the store does not. Behind a proxy
// that shares connections between clients, add default_query_exec_mode=exec to the URL.
//
// Changes commit one after another, because the audit log has their order. So that they need not wait
// for the disk one after another too, concurrent changes commit with synchronous_commit=off, and
// share a flush afterwards: a transaction that only writes to the write-ahead log, with the
// synchronous_commit that the server, the user or the URL sets, and that finds the changes. Changes
// are acknowledged after it, the change feed delivers them after it, and a transaction that changes
// nothing ends after it, such as the one that repeats a stored response. Other reads may see a
// change for the time of a flush before it is acknowledged; if the server crashes then, it is
// gone. A single writer commits as usual.
//
// One pool serves reads and writes, unless there is a replica. A list is one statement, so
// reads can't starve writes for long.
package postgres
