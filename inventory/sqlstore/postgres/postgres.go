package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Options change how [Open] opens a database. Nil means the defaults.
type Options struct {
	// ReadURL is the URL of a replica to read from. Reads that must be fresh
	// (sqlstore.Store.Fresh) use the database itself. Default: no replica.
	ReadURL string
	// MaxConns bounds the connections to each database, from 2, besides one for health checks.
	// Default: 16. If the server refuses further ones before, calls wait for those that are open.
	MaxConns int
	// Store are the options of the store itself. Open sets Replica and Health.
	Store *sqlstore.Options
}

// Open opens the database of a URL such as postgres://user:password@host:5432/inventory for
// the records of a schema, and brings its tables up to date. The caller closes the store.
//
// The error is of kind records.Unavailable if the database can't be reached. It never
// contains the password.
func Open(ctx context.Context, url string, schema *records.Schema, opts *Options) (*sqlstore.Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	store := *cmp.Or(opts.Store, &sqlstore.Options{})
	writer, err := handle(url, opts.MaxConns, store.Log)
	if err != nil {
		return nil, fmt.Errorf("open the inventory: %w", err)
	}
	if err := checkHandle(ctx, writer, store.Namespace); err != nil {
		return nil, errors.Join(fmt.Errorf("open the inventory: %w", err), writer.Close())
	}
	reader := writer
	if opts.ReadURL != "" {
		store.Replica = true
		if reader, err = handle(opts.ReadURL, opts.MaxConns, store.Log); err != nil {
			return nil, errors.Join(fmt.Errorf("open the inventory for reading: %w", err), writer.Close())
		}
	}
	health, _ := handle(url, 1, store.Log) // its URL is valid
	store.Health = []*sql.DB{health}
	s, err := sqlstore.New(ctx, writer, reader, Dialect(), schema, &store)
	if err != nil {
		err = errors.Join(fmt.Errorf("open the inventory: %w", err), reader.Close(), writer.Close(), health.Close())
		return nil, err
	}
	return s, nil
}

// New returns a store in a database that the program has open with pgx, and brings its tables up to date. Close leaves
// the handle open. opts may be nil; with Options.Namespace the tables are in a schema of their own.
//
// stdlib.OpenDBFromPool of pgx makes a handle of a pgxpool.Pool. The server has version 12 or later, the encoding
// UTF8, and standard_conforming_strings on, which is its default; jit = off makes pages faster. The error says what is
// missing.
func New(ctx context.Context, db *sql.DB, schema *records.Schema, opts *sqlstore.Options) (*sqlstore.Store, error) {
	store := *cmp.Or(opts, &sqlstore.Options{})
	store.KeepOpen = true
	if err := checkHandle(ctx, db, store.Namespace); err != nil {
		return nil, fmt.Errorf("open the inventory: %w", err)
	}
	return sqlstore.New(ctx, db, db, Dialect(), schema, &store)
}

// checkHandle checks what the store needs of a handle. A database that can't be reached is left to the store.
func checkHandle(ctx context.Context, db *sql.DB, namespace string) error {
	if db == nil {
		return errors.New("the handle is nil")
	}
	var version int
	var standby bool
	var schema, encoding, plainStrings string
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), coalesce(current_schema(), ''),
		current_setting('server_encoding'), current_setting('standard_conforming_strings')`, pgx.QueryExecModeExec).Scan(&version, &standby, &schema, &encoding, &plainStrings)
	switch {
	case err != nil && classify(err).Kind == dialect.Unavailable:
		return nil
	case err != nil:
		return fmt.Errorf("the handle has the driver %T: use github.com/jackc/pgx/v5/stdlib: %w", db.Driver(), err)
	case version < 12_00_00:
		return fmt.Errorf("the server has version %d: use PostgreSQL 12 or later", version/10_000)
	case standby:
		return errors.New("the server is a standby, which only reads: use the primary; if the URL has both hosts, add target_session_attrs=read-write")
	case schema == "" && namespace == "":
		return errors.New("search_path has no schema that exists: set it, or Options.Namespace")
	case encoding != "UTF8" || plainStrings != "on":
		return fmt.Errorf("the database has the encoding %s and standard_conforming_strings %s: use UTF8 and on", encoding, plainStrings)
	}
	return nil
}

// lock is the number of the advisory lock for migrations, an arbitrary one.
const lock = "4707185602417310"

// serializing is the first number of the advisory locks of transactions that wait for each other.
// Unlike FOR SHARE, which lets others pass a waiting writer for ever, these locks are granted in turn.
const serializing = "470718560"

// Dialect returns the dialect of PostgreSQL.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{Spec: dialect.Spec{
		Name:      "postgres",
		Namespace: "%s.",
		DDL:       ddl(),
		Lock:      []string{"SELECT pg_advisory_xact_lock(" + lock + ")", "SET LOCAL lock_timeout = '2s'"},
		Session:   "SELECT pg_backend_pid()",
		Holders: `SELECT coalesce(string_agg(concat(application_name, ' (process ', pid, ' of ', usename, coalesce(' at ' || host(client_addr), ''),
				', ', state, ' since ', date_trunc('second', state_change), ')'), ', '), '')
			FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids(CAST($1 AS integer)))`,
		Parameter: "$",
		Position:  "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint",
		Replayed:  "SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END, '0/0')::bigint",
		Lag: `SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
			WHEN EXISTS (SELECT 1 FROM pg_stat_wal_receiver) AND pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
			ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) END::float8`,
		Contains:    "strpos(%[1]s, %[2]s) > 0",
		StartsWith:  "left(%[1]s, length(%[2]s::text)) = %[2]s::text",
		Elements:    `replace(replace(replace(substr(%[1]s::text, 3, greatest(length(%[1]s::text) - 4, 0)), '", "', chr(31)), '\\', '\'), '\"', '"')`,
		Element:     "%[1]s @> to_jsonb(%[2]s::text)",
		NullsFirst:  " NULLS FIRST",
		NullsLast:   " NULLS LAST",
		ChainRow:    "(CAST(%s AS bigint), CAST(%s AS text), CAST(%s AS bytea))",
		CommitAsync: "set_config('synchronous_commit', 'off', true)",
		Flush: `SELECT (SELECT count(*) FROM json_to_recordset(CAST($1 AS json)) AS e (seq bigint, hash text)
				LEFT JOIN %s AS c ON c.seq = e.seq LEFT JOIN %s AS h ON h.seq = e.seq
				WHERE e.hash IN (encode(c.hash, 'hex'), encode(h.hash, 'hex')))
			FROM pg_logical_emit_message(true, 'ashlar', '')`, // which writes to the log, so that the commit is not skipped
		Reserve: "DO $$ BEGIN IF to_regclass('%[1]s') IS NULL AND pg_try_advisory_xact_lock(" + lock + `) THEN
				CREATE TABLE %[1]s (filler text NOT NULL);
				ALTER TABLE %[1]s ALTER filler SET STORAGE PLAIN; -- which is not compressed
				INSERT INTO %[1]s SELECT repeat('-', 8000) FROM generate_series(1, 256); -- as many pages
			END IF; END $$`,
		ForUpdate: " FOR UPDATE",
		ForShare:  " AND (SELECT pg_advisory_xact_lock_shared(" + serializing + ", hashtext($2)) IS NOT NULL) FOR SHARE",
		Serialize: "SELECT CAST(pg_advisory_xact_lock(" + serializing + ", hashtext($1)) AS text)",
		JoinEach:  "%[1]s CROSS JOIN LATERAL (SELECT * FROM %[2]s WHERE %[3]s OFFSET 0) AS %[4]s", // which it does not flatten
		OneByOne:  " OFFSET 0",
		Aborts:    true,
		Size:      "SELECT pg_database_size(current_database())",
		Slots:     16,
		Replan:    pgx.QueryExecModeCacheDescribe,
		Analyze:   "ANALYZE %s",
		Time:      func(t time.Time) any { return t },
		Classify:  classify,
	}}
}

// ddl describes the tables of PostgreSQL, in the schema in which it creates new ones.
func ddl() dialect.DDL {
	return dialect.DDL{
		Types: map[records.Kind]string{
			records.Text: `text COLLATE "C"`, records.Int: "bigint", records.Float: "double precision", records.Bool: "boolean",
			records.Time: "timestamp with time zone", records.List: "jsonb", records.Object: "text",
		},
		Zero: map[records.Kind]string{
			records.Int: "0", records.Float: "0", records.Bool: "false", records.Time: "'1970-01-01 00:00:00+00'",
			records.List: "'[]'", records.Object: "'{}'",
		},
		Bytes:   "bytea",
		NoBytes: "''",
		Now:     "now()",
		Begin:   []string{"SET LOCAL lock_timeout = '5s'", "SELECT pg_advisory_xact_lock(" + lock + ")"},
		Columns: `SELECT {prefix} || c.relname, a.attname, format_type(a.atttypid, a.atttypmod) || CASE WHEN l.collname = 'C' THEN ' COLLATE "C"' ELSE '' END,
				CASE WHEN a.attnotnull THEN 1 ELSE 0 END
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
			WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY c.relname, a.attnum`,
		Search:     search(),
		Include:    true,
		IndexBytes: 2600, // a third of a page, less what the row itself takes
		Indexes: `SELECT {prefix} || t.relname, {prefix} || c.relname, coalesce(pg_get_expr(i.indpred, i.indrelid), '')
			FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid JOIN pg_class AS t ON t.oid = i.indrelid
			WHERE c.relnamespace = {schema}::regnamespace ORDER BY c.relname`,
		Constraints: `SELECT {prefix} || c.relname, CASE WHEN cardinality(k.conkey) = 1 THEN a.attname ELSE '' END, k.conname, pg_get_constraintdef(k.oid)
			FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
			WHERE c.relnamespace = {schema}::regnamespace AND k.contype IN ('c', 'f') ORDER BY c.relname, k.conname`,
		Namespace: "DO $$ BEGIN IF to_regnamespace('%[1]s') IS NULL THEN CREATE SCHEMA %[1]s; END IF; END $$", // IF NOT EXISTS needs more rights
	}
}

// search describes an index of trigrams, which needs the extension pg_trgm. Without it a search
// reads all records.
func search() *dialect.Search {
	return &dialect.Search{
		Available: `SELECT quote_ident(n.nspname) || '.' FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
				WHERE e.extname = 'pg_trgm' AND has_schema_privilege(n.oid, 'USAGE')
			UNION ALL SELECT quote_ident(current_schema()) || '.' FROM pg_available_extensions
				WHERE name = 'pg_trgm' AND installed_version IS NULL
				AND has_database_privilege(current_database(), 'CREATE') AND has_schema_privilege(current_schema(), 'CREATE')`,
		Create: []string{
			"CREATE EXTENSION IF NOT EXISTS pg_trgm",
			"CREATE INDEX {local} ON {table} USING gin (({text}) {schema}gin_trgm_ops)",
		},
		Drop:      []string{"DROP INDEX {name}"},
		Separator: "chr(31)",
		Match:     "({text}) LIKE %s",
		Pattern: func(s string) string {
			return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s) + "%"
		},
	}
}

// kinds has the meaning of SQLSTATEs, and of their classes.
var kinds = map[string]dialect.Kind{
	"23505": dialect.UniqueViolation, "23503": dialect.ForeignKeyViolation,
	"42703": dialect.SchemaChanged, // no such column
	"42P01": dialect.SchemaChanged, // no such table: a replica may lag
	"0A000": dialect.SchemaChanged, // a cached plan must not change its result
	"40001": dialect.Retryable, "40P01": dialect.Retryable,
	"25006": dialect.Unavailable, // read-only: the server has become a replica
	"55P03": dialect.Locked,
	"53100": dialect.Full,
	"XX001": dialect.Damaged, "XX002": dialect.Damaged, // data, and an index
	"08": dialect.Unavailable, "53": dialect.Unavailable, "57": dialect.Unavailable, "58": dialect.Unavailable, // connection, resources, shutdown and timeouts, input and output
}

// classify classifies an error by its SQLSTATE.
func classify(err error) dialect.Error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !ok || connecting {
		return dialect.Error{Kind: lost(err)}
	}
	kind, known := kinds[e.Code]
	if !known {
		kind = kinds[e.Code[:min(len(e.Code), 2)]]
	}
	return dialect.Error{Kind: kind, Constraint: e.ConstraintName}
}

// lost returns dialect.Unavailable for an error of the connection.
func lost(err error) dialect.Kind {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case connecting, network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		strings.Contains(err.Error(), "conn closed"), strings.Contains(err.Error(), "conn busy"):
		return dialect.Unavailable
	}
	return dialect.Other
}
