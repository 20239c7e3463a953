// Package sqlstore keeps an inventory in a database, through database/sql. It imports no
// driver: sqlstore/sqlite and sqlstore/postgres do.
//
//	store, err := sqlite.Open(ctx, "inventory.db", inventory.Schema(), nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	v := records.New(store, nil)
//
// Tables, columns, statements and scans are made from the descriptions of the resources
// (records.Schema.StoredResources). When a store is opened, it compares the tables with the schema: it creates the
// tables, columns, unique keys, references, checks, indexes and counts that the database lacks, and changes the
// checks, the references and NOT NULL of columns that do not fit the fields of a struct. In records that exist, an
// added field has no value or its default, even if it is required. If they violate a changed check or reference, the
// store is not opened, and the database stays as it was: a migration has to change them.
//
// A column that has another type than its field is an error that names it, and so is one that differs in NOT NULL from
// a field that was added with records.Extend, as these may differ between the programs of a database. Tables and
// columns that the schema lacks are ignored. Nothing is removed, except the index of a key that was added with
// records.UniqueKey and that the schema lacks. A program that changes its database itself gets the statements from
// [Dialect.Migrations] and [Dialect.Statements].
//
// The databases are SQLite and PostgreSQL. A program that has a database open passes its handle to sqlite.New or
// postgres.New. To keep an inventory elsewhere, implement records.Store;
// inventory/storetest tests it.
//
// # Beside the tables of a program
//
// [Options].Namespace keeps all tables and indexes apart from others of the database: those of the namespace inventory
// are inventory.devices on PostgreSQL, in a schema of this name, and inventory_devices on SQLite. Without one they have
// the names of the resources, and a table of the program with such a name is an error. Errors have the names with the
// namespace. To move a database to a namespace of PostgreSQL, move all tables with ALTER TABLE SET SCHEMA. Their
// records are counted again when it is opened.
//
// A hook (records.OnChange) changes tables of the program in the transaction of a change, with [SQL]:
//
//	records.OnChange("devices", func(ctx context.Context, tx records.Tx, before, after records.Record) error {
//		own, err := sqlstore.SQL(tx)
//		if err != nil {
//			return err
//		}
//		_, err = own.ExecContext(ctx, "UPDATE contracts SET checked = 0")
//		return err
//	})
//
// # Schema
//
// Records may declare fields (records.Declarer). Their columns are added and removed in the
// transaction of the record, so that a crash leaves both or neither. Other processes look for changes
// every two seconds; a transaction that changes records also looks before it commits, and runs again
// with the new schema. So counts stay right, and only a read may fail with records.Unavailable,
// if it names a column that was just removed. A replica may lack a new column until it has caught up.
// While a column is added and indexed, PostgreSQL locks its table: a quarter of a second for 100,000
// records. A change that does not get the lock within five seconds fails.
//
// Each resource has a table, with its unique keys, references and checks. A missing string is
// stored as the empty string; null is for fields that are pointers in Go. Strings compare by
// their bytes.
//
// The table tallies has the number of records, and of those with each value of the fields with
// the tag word counted. The counts are exact, and change in the transactions that change the
// records, so that a total costs the same for a thousand records and a million. A program that
// changes records with SQL of its own must change the counts too, and increase the one of the field
// "*". Counts of values that no record has any more remain, as zeros.
//
// A resource with records.Latest has a second table, such as metrics_latest, with the latest record
// of each value of a reference. It too changes in the transactions that change the records. Lists of
// the latest records read nothing else.
//
// Lists are sorted by names and addresses by a key (records.Field.OrderKey), which has a column of its
// own, such as hostname__key, beside that of the value. The index of such a field is that of its key; it
// finds equal values too, by the key of the value. A program that changes names or addresses with SQL
// of its own must change the keys too. When a store is opened, it fills the keys that existing records
// lack, in small transactions, before it indexes them: 100,000 devices and 200,000 interfaces take about
// ten seconds. Options.Log gets the progress. Other processes may do the same at the same time, and an
// interrupted upgrade is continued by the next one. A program of an earlier version may write
// meanwhile. Records that it adds get their keys when a store is opened the next time, and until then
// filters for their names and addresses do not find them; a name that it changes keeps the key that it has
// by then. So stop such programs before the upgrade has ended.
//
// For a field that becomes counted, the existing records are counted when the store is opened. A
// program that does not know yet that the field is counted must not write to the database any more.
//
// # Replicas
//
// A store may write to a database and read from a replica. [Store.Fresh] and transactions read
// from the first. So do all reads while the replica does not respond: one that it does not answer within half of
// Options.Timeout is repeated there, over half of the connections at most, and for two seconds nobody asks the replica.
// [Store.Replica] tells, and [Store.Ping] asks the first only. So do reads with a context that has seen a change
// (records.WithSeen), while the replica has not: httpapi.ReadAfter is middleware that gives requests such a context.
//
// # Migrations
//
// A migration (records.Migrations) is a version of the schema, with statements if data move. When a store is opened,
// the migrations that the database lacks run in one transaction with the changes of tables, under a lock, so that several
// processes may start at the same time. On PostgreSQL each index of an existing table is changed in a transaction of its
// own after that, so that no table is locked while another one is waited for. A change of a table of the inventory gets a number, which a test in
// inventory/standard asks for. A released migration never changes; a later version adds a new one.
//
// Programs of two versions share a database while its servers are replaced one by one. A migration says which programs
// it leaves working (records.Migration.Oldest): it only adds, and what a version does not use any more is dropped one
// version later. The table ashlar_inventory_versions has the numbers that a program must know, and
// ashlar_inventory_additions the others. A program that lacks a number of the first does not open the database; if it
// runs, its calls and [Store.Ping] fail within seconds with records.Unavailable, and say that it is older than the
// database. One that lacks numbers of the second leaves the tables as they are.
//
// A transaction that migrates waits for locks of tables two seconds at most, since calls of others wait behind it, and
// then begins again. Options.Log gets who holds the lock. On PostgreSQL the lock of migrations ends with the
// transaction, so that it also holds behind a pooler that shares sessions.
//
// Earlier versions had the numbers in goose_db_version, which is also the default table of the library goose. If
// the database has an inventory (the tables audit_logs and receipts, with the columns of records), and no table
// ashlar_inventory_versions, the numbers are adopted from there. Then goose_db_version is deleted if all tables of the
// database are those of the inventory. If there are others, a program may need it, and it stays as it is: a program whose own
// migrations are not in it has to delete it. A number that is no migration of the inventory is refused. If it is
// of a program that shares the table, and the inventory had version 8, these statements let it be opened:
//
//	CREATE TABLE ashlar_inventory_versions (version bigint NOT NULL PRIMARY KEY, applied_at timestamptz NOT NULL);
//	INSERT INTO ashlar_inventory_versions SELECT version_id, now() FROM goose_db_version WHERE version_id BETWEEN 1 AND 8;
//
// On SQLite the columns are INTEGER, and 0 stands for now(). Stop programs of earlier versions before.
//
// # Errors
//
// Violated keys and references are records.Conflict and records.Invalid, with the fields. A
// database that can't be reached, is locked, read-only or damaged, is lost during a call, or does
// not respond within Options.Timeout, is records.Unavailable; the next call connects again. A
// change for which there is no space is records.Full. On PostgreSQL the table ashlar_inventory_reserve keeps 2 MB, which
// are given up for changes of a context with records.Essential when the disk is full. Until the table is there again,
// for five minutes at most, other changes are refused, and one a second looks whether there is space. A transaction that the database aborts in
// favour of another one runs again, a bounded number of times.
//
// If the connection is lost during a commit, it is unknown whether the transaction was committed.
// A caller that repeats it needs a way to recognize that, such as a record with a unique key that
// belongs to the call.
//
// [Store.Ping] has connections of its own. After an error of a damaged database it fails until
// a check of the database finds no more damage. If the database is too large to be checked before the deadline
// of the ping, it fails until a minute has passed without such an error.
//
// # Design notes
//
// internal/dialect holds the differences between the databases as data, and the statements are the same for both:
// each difference has a name and a description there, instead of branches all over the package.
//
// A list is one statement: the page, with the total in its last column. So both are of one
// state, with one round trip and no transaction. A window function for the total would read
// all matching rows, and a second statement would need a transaction. Only an empty page after
// the first has no row for the total, and takes a transaction.
//
// A total that is not stored is counted, and remembered in the process with the generation of the
// table: a number in tallies that grows in each transaction that changes records. The statement of
// the next page reads the generation in its own snapshot, and counts again only if it differs, so
// that the total is exact whichever process has written. A total of the audit log is remembered
// with its last position too, and the next page counts the entries after it, if they are up to
// 1,000: only deletions change its generation. At most 1,024 totals are remembered. Measurements
// have no generation, because they change all the time.
//
// A search reads the index for searches if it finds up to 2,000 records, and else the records in
// the order of the page, which soon has enough. So do contains and startswith of a searched field,
// and equality of one without another index. For strings that are contained in values of a counted
// field, the counts tell the values, and the query is one for these values. Strings of one and two
// characters are not in the index, which has trigrams: if few records contain one, all are read. But
// SQLite has a table of the trigrams, and finds two characters by those that begin with them.
// An index of pairs of characters would have to be kept up to date in every change for them.
//
// A column with the searched text, which PostgreSQL would compute when it stores a record, was
// tried: the table grew by a third, and a count of half of 100,000 records took about as long,
// because LIKE takes most of the time.
//
// A page after a cursor is a UNION ALL of ranges that an index can look up, one or two for each
// sort column. With OR between them, databases read the index from its beginning.
//
// Counts are maintained by the store and not by triggers: a trigger runs once per row, is
// written in a language of each database. A transaction
// writes each count once, at its end, in the order of the keys, so that two transactions can't
// deadlock. In a database with several writers a count is spread over slots, of which a
// transaction updates a random one, so that writers seldom wait for each other. The planner's
// estimate would not be exact, and a cached count would be wrong as soon as a second process
// writes.
//
// The store deletes the records that cascade, although the database could: they have to be
// counted, and a record that loses a reference has to get a new version.
//
// An update changes the columns that differ from the row that the transaction has read. It
// need not read the row again, because a version never changes and the update names the
// version. Unchanged columns cost no index updates, and without a changed key there is no
// savepoint.
//
// In PostgreSQL a violated constraint ends the transaction, and the contract requires that it
// continues. So statements that may violate one come after a savepoint, one per call. To look
// for duplicates first would cost as much, and could be wrong a moment later. The engine adds
// records without a savepoint first (CreateFast), and with one when that transaction has failed.
//
// The tables of latest records have an index for the default order only, because each new record
// changes all columns of its row. In a database with one writer at a time, one statement replaces
// many rows that are older; PostgreSQL locks the rows first.
//
// Transactions that each change several records can deadlock, which the database detects after
// a second. Within a store they take turns instead; between processes the database aborts one,
// which runs again.
//
// Only fields that lists are known to be filtered or sorted by have an index (the tag word index), besides keys,
// references and the search: an index of each counted field made those of the interfaces five times as large as their
// rows. SQLite reads all entries of an index that has the columns of other filters, at 0.2 µs each. The index of a
// reference that may be null has the records that have one.
//
// Long changes in the audit log are compressed with a dictionary, which makes an entry half as large. With binary columns
// it would be a tenth less, but a program of an earlier version, which may run beside, could not read them.
//
// Which index a list uses is decided in internal/plan for SQLite, from the counts, and by the statistics of
// PostgreSQL; the documentation of that package answers it in a table, with figures of what was tried, and
// [Store.Explain] for one query. The index of a shared field (records.Field) on SQLite has the columns of the orders too,
// except updated_at: reading one of its entries takes about 0.2 µs, and reading a row 20 times as long. On PostgreSQL
// it was tried and was slower than what its planner chooses.
//
// The records of some places (records.Query.Only) are found from the records, each of which is followed to its
// place by the ids that it refers to, or from the places, by the indexes of the references. The counts tell which of
// the two reads less: from the places for a small location, and from the records for one of which soon a page is
// full. A total with records.Query.Estimate ends at records.MaxPlacedEstimate, since each record takes several
// look-ups: one microsecond each on SQLite. The numbers do not tell where in the order the records of a place are: if
// all of a large one are at the end, the page is found after the look-ups of all before, as for the links of
// 50,000 devices in 0.1 s. IN with a SELECT of all ids in the places, which databases read for each statement, took
// 0.2 s for interfaces of 50,000 devices, and on SQLite more than 30 s for links. A column with the place in each
// record was turned down: a device that moves would change all its interfaces, addresses and metrics, and what a user
// may see would depend on a copy.
//
// A summary of the devices of some places is the sum of the counts of pairs of a place and a value. Of other records
// there are no such counts, and each is read: 0.2 s for the interfaces of 50,000 devices.
//
// Rows are scanned into values of the driver, and stored in records by the kind of the field.
// To scan into fields would take database/sql through reflection for each named type.
//
// SQLite can't change a constraint of a column. Its documentation has two ways: to copy the table, or to change the
// text of its definition in sqlite_schema. A copy takes long and doubles the file, and foreign keys must be off, which
// a transaction can't do. So the text is changed, after the records were checked.
//
// PostgreSQL returns a check as it has parsed it. The words of both are compared (normal), instead of a description
// that would be stored beside the tables, and could differ from them.
//
// The migrations are not run by a library: they are few statements, and must be in the transaction of the changes of
// tables.
//
// A namespace precedes the name of each table in the statements (records.TablePrefix). With search_path instead, the
// statements of a hook would find the tables of the inventory in place of those of its program.
//
// The package uses no library to build SQL: there are few statements, their parts are
// constants, and their names come from the descriptions only.
package sqlstore
