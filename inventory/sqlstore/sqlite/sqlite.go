package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/ashlar-go/ashlar/internal/sqlitefile"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Options change how [Open] opens a database. Nil means the defaults.
type Options struct {
	// Readers is the number of connections that read. Default: the number of processors, at
	// least 4.
	Readers int
	// BusyTimeout bounds how long a change waits for the lock of another process, before it
	// fails with records.Unavailable. Default: 5s.
	BusyTimeout time.Duration
	// Log receives warnings about the files: modes that were changed, a file that was replaced; and
	// what Store.Log would, unless that is set. Default: slog.Default.
	Log *slog.Logger
	// Store are the options of the store itself. Open sets Health.
	Store *sqlstore.Options
}

// Memory is the path of a database in memory.
const Memory = sqlitefile.Memory

// Open opens the database in a file for the records of a schema, and brings its schema up to date.
// It creates the file, readable by its owner only, if there is none. The path [Memory] opens a new
// database that ends when the store is closed. The caller closes the store. Several processes may
// have the same file open.
func Open(ctx context.Context, path string, schema *records.Schema, opts *Options) (*sqlstore.Store, error) {
	if path == "" {
		return nil, errors.New("open an inventory: the path is empty: name a file, or :memory: for a database in memory")
	}
	if opts == nil {
		opts = &Options{}
	}
	db, err := handles(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	store := sqlstore.Options{}
	if opts.Store != nil {
		store = *opts.Store
	}
	store.Log = cmp.Or(store.Log, opts.Log)
	store.Health = []*sql.DB{} // a database in memory always responds
	if db.Health != nil {
		store.Health = []*sql.DB{db.Health}
	}
	s, err := sqlstore.New(ctx, db.Writer, db.Reader, Dialect(), schema, &store)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, explain(err)), db.Close())
	}
	return s, nil
}

// New returns a store in a database that the program has open, and brings its schema up to date. Close leaves the
// handle open. opts may be nil; with Options.Namespace the tables are apart from those of the program.
//
// The driver is modernc.org/sqlite, and every connection needs foreign keys and a timeout for locks, such as those of
//
//	sql.Open("sqlite", "program.db?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
//
// A database in memory needs SetMaxOpenConns(1). With one connection, a function of Store.Change must not use the
// handle. The error says what is missing.
func New(ctx context.Context, db *sql.DB, schema *records.Schema, opts *sqlstore.Options) (*sqlstore.Store, error) {
	if err := checkHandle(ctx, db); err != nil {
		return nil, fmt.Errorf("open an inventory: %w", err)
	}
	store := *cmp.Or(opts, &sqlstore.Options{})
	store.KeepOpen = true
	d := Dialect()
	d.TakeLock = "DELETE FROM %s WHERE false"
	return sqlstore.New(ctx, db, db, d, schema, &store)
}

// checkHandle checks the settings of the idle connections of a handle, and of a new one: those that somebody has set
// with PRAGMA are those of one connection.
func checkHandle(ctx context.Context, db *sql.DB) (err error) {
	if db == nil {
		return errors.New("the handle is nil")
	}
	if _, ok := db.Driver().(*driver.Driver); !ok {
		return fmt.Errorf("the handle has the driver %T: use modernc.org/sqlite", db.Driver())
	}
	stats := db.Stats()
	n := stats.Idle + 1
	if stats.MaxOpenConnections > 0 {
		n = min(n, stats.MaxOpenConnections)
	}
	for range n {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		var foreignKeys, busyTimeout int
		var file string
		err = conn.QueryRowContext(ctx, "SELECT foreign_keys, timeout, file FROM pragma_foreign_keys, pragma_busy_timeout, pragma_database_list WHERE name = 'main'").
			Scan(&foreignKeys, &busyTimeout, &file)
		switch {
		case err != nil:
			return err
		case foreignKeys == 0:
			return errors.New("a connection of the handle does not check foreign keys: open it with _pragma=foreign_keys(1)")
		case busyTimeout == 0:
			return errors.New("a connection of the handle does not wait for locks: open it with _pragma=busy_timeout(5000)")
		case file == "" && stats.MaxOpenConnections != 1:
			return errors.New("each connection of the handle has a database of its own, in memory: call SetMaxOpenConns(1)")
		}
	}
	return nil
}

// explain replaces the text of an error about permissions: to try again later does not help.
func explain(err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff { // the primary code
	case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return &records.Error{
			Kind: records.Unavailable, Message: "The directory must exist, and this user must be able to write to it and to the file", Err: e,
		}
	}
	return err
}

// Backup copies the database in a file to a new file, as [sqlstore.Store.Backup] does. It
// does not migrate the database, whose schema may be older or newer than this program's.
func Backup(ctx context.Context, path, file string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err // opening it would create it
	}
	db, err := handles(ctx, path, &Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return sqlstore.Backup(ctx, db.Reader, Dialect(), file)
}

func handles(ctx context.Context, path string, opts *Options) (*sqlitefile.Handles, error) {
	db, err := sqlitefile.Open(ctx, "sqlite", path, &sqlitefile.Options{
		Readers: opts.Readers, BusyTimeout: opts.BusyTimeout, Health: true, Log: opts.Log,
		Pragmas: []string{"cache_size(-16000)", "wal_autocheckpoint(4000)", "temp_store(2)"},
	})
	if err != nil {
		err = fmt.Errorf("open %s: %w", path, err)
	}
	return db, err
}

// Dialect returns the dialect of SQLite.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{Spec: dialect.Spec{
		Name:       "sqlite",
		Namespace:  "%s_",
		Exclusive:  sqlitefile.Migrate,
		DDL:        ddl(),
		Parameter:  "?",
		Next:       "?",
		Contains:   "instr(%[1]s, %[2]s) > 0",
		StartsWith: "substr(%[1]s, 1, length(%[2]s)) = %[2]s",
		Elements:   "coalesce((SELECT group_concat(value, char(31)) FROM json_each(%s)), '')",
		Element:    "EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE value = %[2]s)",
		IndexedBy:  " INDEXED BY %s",
		Unindexed:  "+",
		JoinEach:   "%[1]s CROSS JOIN %[2]s WHERE %[3]s", // in this order
		Complete:   "WITH result AS MATERIALIZED (%s) SELECT * FROM result",
		Backup:     "VACUUM INTO ?1",
		Check:      "PRAGMA quick_check(1)",
		Size:       "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
		Slots:      1,
		Prepare:    true,
		Time:       func(t time.Time) any { return t.UnixMicro() },
		Classify:   classify,
	}}
}

// ddl describes the tables of SQLite. A type of a column is its affinity.
func ddl() dialect.DDL {
	return dialect.DDL{
		Types: map[records.Kind]string{
			records.Text: "TEXT", records.Int: "INTEGER", records.Float: "REAL", records.Bool: "INTEGER", records.Time: "INTEGER",
			records.List: "TEXT", records.Object: "TEXT",
		},
		Zero: map[records.Kind]string{
			records.Int: "0", records.Float: "0", records.Bool: "0", records.Time: "0", records.List: "'[]'", records.Object: "'{}'",
		},
		Checks:  map[records.Kind]string{records.Bool: "%s IN (0, 1)"},
		Bytes:   "BLOB",
		NoBytes: "x''",
		Now:     "unixepoch() * 1000000",
		Options: " WITHOUT ROWID",
		Columns: `SELECT m.name, c.name, CASE
				WHEN c.type LIKE '%INT%' THEN 'INTEGER'
				WHEN c.type LIKE '%CHAR%' OR c.type LIKE '%CLOB%' OR c.type LIKE '%TEXT%' THEN 'TEXT'
				WHEN c.type LIKE '%REAL%' OR c.type LIKE '%FLOA%' OR c.type LIKE '%DOUB%' THEN 'REAL'
				ELSE upper(c.type) END, c."notnull"
			FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' ORDER BY m.name, c.cid`,
		Search: search(),
		Indexes: `SELECT tbl_name, name, CASE WHEN sql LIKE '% WHERE %' THEN substr(sql, instr(sql, ' WHERE ') + 7) ELSE '' END
			FROM sqlite_master WHERE type = 'index' ORDER BY name`,
		Definitions: "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE %' ORDER BY name",
	}
}

// missing matches the errors for a column that does not exist, which have no code of their own.
var missing = regexp.MustCompile(`no such column|has no column named`)

// search describes a full-text index of trigrams. It has numbers for the records, whose tables
// have no rowid. Triggers would make each INSERT keep a copy of the pages it touches. It is filled
// with few and large writes, which takes a third of the time. A pair of characters is found by the
// trigrams that begin with it: a separator follows the last value, which may end with the pair.
func search() *dialect.Search {
	return &dialect.Search{
		Create: []string{
			"CREATE TABLE {name}_ids (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
			"CREATE VIRTUAL TABLE {name} USING fts5(text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1)",
			"CREATE VIRTUAL TABLE {name}_terms USING fts5vocab('{name}', 'row')",
			"INSERT INTO {name}_ids (id) SELECT id FROM {table} ORDER BY id",
			"INSERT INTO {name} ({name}, rank) VALUES ('hashsize', 67108864), ('automerge', 0)",
			"INSERT INTO {name} (rowid, text) SELECT i.n, {text} || char(31) FROM {name}_ids AS i CROSS JOIN {table} AS t WHERE t.id = i.id",
			"INSERT INTO {name} ({name}, rank) VALUES ('hashsize', 1048576), ('automerge', 4)",
		},
		Update: []string{
			"DELETE FROM {name} WHERE rowid IN (SELECT i.n FROM json_each(?1) AS j CROSS JOIN {name}_ids AS i WHERE i.id = j.value)",
			"INSERT OR IGNORE INTO {name}_ids (id) SELECT value FROM json_each(?1)",
			"INSERT INTO {name} (rowid, text) SELECT i.n, {text} || char(31) FROM json_each(?1) AS j CROSS JOIN {name}_ids AS i CROSS JOIN {table} AS t WHERE i.id = j.value AND t.id = j.value",
			"DELETE FROM {name}_ids WHERE id IN (SELECT value FROM json_each(?1)) AND NOT EXISTS (SELECT 1 FROM {table} AS t WHERE t.id = {name}_ids.id)",
		},
		Drop:      []string{"DROP TABLE IF EXISTS {name}_terms", "DROP TABLE {name}", "DROP TABLE {name}_ids"},
		Separator: "char(31)",
		Match:     "id IN (SELECT i.id FROM {name} AS s CROSS JOIN {name}_ids AS i WHERE s.text MATCH %s AND i.n = s.rowid)",
		Count:     "SELECT count(*) FROM (SELECT 1 FROM {name} WHERE text MATCH %s LIMIT %s)",
		Pair: `(SELECT coalesce(group_concat('"' || replace(term, '"', '""') || '"', ' OR '), '""') FROM {name}_terms` +
			` WHERE term BETWEEN %[1]s AND %[1]s || char(1114111))`,
		Version: "2",
		Pattern: func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
	}
}

// classify classifies an error by its result code. SQLite does not say which foreign key is
// violated.
func classify(err error) dialect.Error {
	if columns, ok := sqlitefile.Duplicate(err); ok {
		return dialect.Error{Kind: dialect.UniqueViolation, Columns: columns}
	}
	return dialect.Error{Kind: kindOf(err)}
}

func kindOf(err error) dialect.Kind {
	if errors.Is(err, sqlitefile.ErrReplaced) {
		return dialect.Unavailable
	}
	e, ok := errors.AsType[*driver.Error](err)
	switch {
	case !ok:
		return dialect.Other
	case e.Code() == codes.SQLITE_CONSTRAINT_FOREIGNKEY:
		return dialect.ForeignKeyViolation
	case e.Code() == codes.SQLITE_NOMEM, e.Code() == codes.SQLITE_IOERR_NOMEM:
		return dialect.NoMemory
	case e.Code() == codes.SQLITE_IOERR_SHMSIZE: // the index of the log can't grow
		return dialect.Full
	case e.Code() == codes.SQLITE_ERROR && missing.MatchString(e.Error()):
		return dialect.SchemaChanged
	}
	switch e.Code() & 0xff { // the primary code
	case codes.SQLITE_FULL:
		return dialect.Full
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return dialect.Damaged
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN,
		codes.SQLITE_PROTOCOL, codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return dialect.Unavailable
	}
	return dialect.Other
}
