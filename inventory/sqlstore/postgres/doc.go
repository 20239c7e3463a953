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
// A program that has a pool of its own opens the inventory with [New]. Behind a pooler it has to set the mode of its
// statements (pgx.ConnConfig.DefaultQueryExecMode) to cache_describe.
//
// # Design notes
//
// Strings have the collation "C", so that they compare by their bytes, as records.Query
// demands, whatever the locale of the database. Cursors depend on it: an update of a locale
// would change the order of records.
//
// Times are timestamptz, so that they are readable in psql. The store reads them in UTC.
//
// The driver caches prepared statements per connection, so the store does not. A pooler that gives each transaction
// another session of the server, such as PgBouncer in transaction mode, is recognized by the number of the session,
// which is not the one that the connection was told. Statements are then described once, but not prepared, unless the
// URL sets default_query_exec_mode. No setting, lock or table outlives its transaction, apart from jit = off, which is
// left to the role there: ALTER ROLE inventory SET jit = off. Parameters of the start of a connection are those of the URL,
// and application_name, which poolers know: the program, its process and its host, so that who holds a lock has a name.
//
// A connection that the server refuses because there are too many (53300) bounds the pool to those that it has, and a
// second later it tries one more. database/sql has calls wait for a connection in order. Connections end after five
// minutes, and after one minute without use, so that another process gets its share.
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
