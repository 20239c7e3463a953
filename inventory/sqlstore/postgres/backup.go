package postgres

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Backup writes a dump of the database of a URL, in the custom format of pg_dump, to a new file that only its owner may
// read, while others read and write. The file appears under its name when it is complete and was read back: the rows of
// each table are counted in the dump and in the snapshot that it was made from. pg_restore restores it.
//
// The programs pg_dump and pg_restore have to be on the PATH, in the version of the server or a later one. The URL names
// one host, and no pooler. Passwords are not among the arguments of the programs.
func Backup(ctx context.Context, url, file string) (err error) {
	db, err := handle(url, 1, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	d := Dialect()
	d.Dump = func(ctx context.Context, db *sql.DB, part string) error { return dump(ctx, db, url, part) }
	return sqlstore.Backup(ctx, db, d, file)
}

// dump dumps a snapshot of the database to an empty file, and compares the rows of each table.
func dump(ctx context.Context, db *sql.DB, url, file string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	var snapshot string
	if err := tx.QueryRowContext(ctx, "SELECT pg_export_snapshot()", pgx.QueryExecModeExec).Scan(&snapshot); err != nil {
		return err
	}
	address, password := dumpAddress(url)
	if err := client(ctx, password, nil, "pg_dump", "--format=custom", "--no-password", "--snapshot="+snapshot, "--file="+file, "--dbname="+address); err != nil {
		return err
	}
	var dumped map[string]int64
	if err := client(ctx, "", func(r io.Reader) { dumped = countRows(r) }, "pg_restore", "--data-only", "--file=-", file); err != nil {
		return fmt.Errorf("the dump can't be read: %w", err)
	}
	tables, err := tx.QueryContext(ctx, `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
		AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')`, pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			return errors.Join(err, tables.Close())
		}
		names = append(names, name)
	}
	if err := errors.Join(tables.Err(), tables.Close()); err != nil {
		return err
	}
	for _, name := range names {
		var rows int64
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM "+name, pgx.QueryExecModeExec).Scan(&rows); err != nil {
			return err
		}
		if dumped[name] != rows {
			return fmt.Errorf("the dump is incomplete: it has %d of the %d rows of %s", dumped[name], rows, name)
		}
	}
	return nil
}

// forClients are the parameters of a URL that pg_dump knows. Others are those of the driver.
var forClients = []string{"host", "port", "user", "dbname", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "connect_timeout", "options", "target_session_attrs"}

// dumpAddress returns a URL for pg_dump, without the password, and the password.
func dumpAddress(address string) (without, password string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, "" // handle has accepted it, so it has no password that could be seen
	}
	query, kept := u.Query(), url.Values{}
	for _, name := range forClients {
		if query.Has(name) {
			kept.Set(name, query.Get(name))
		}
	}
	inURL, _ := u.User.Password()
	u.RawQuery, password = kept.Encode(), cmp.Or(query.Get("password"), inURL)
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String(), password
}

// client runs a client program of PostgreSQL, whose output it gives to read.
func client(ctx context.Context, password string, read func(io.Reader), program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%s is needed: install the client programs of PostgreSQL, in the version of the server or a later one: %w", program, err)
	}
	cmd := exec.CommandContext(ctx, path, args...) // #nosec G204 -- the arguments are those above
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if read != nil {
		read(out)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, cmp.Or(ctx.Err(), err), printable.Truncate(strings.TrimSpace(failure.String()), 2000))
	}
	return nil
}

// countRows counts the rows of each table in a script of pg_restore.
func countRows(script io.Reader) map[string]int64 {
	rows, table := map[string]int64{}, ""
	for r := bufio.NewReaderSize(script, 64<<10); ; {
		line, isPrefix, err := r.ReadLine()
		if err != nil {
			return rows
		}
		text := string(line[:min(len(line), 300)])
		for isPrefix && err == nil { // the rest of a long row
			_, isPrefix, err = r.ReadLine()
		}
		switch {
		case table == "" && strings.HasPrefix(text, "COPY "):
			table, _, _ = strings.Cut(strings.TrimPrefix(text, "COPY "), " (")
		case text == `\.`:
			table = ""
		case table != "":
			rows[table]++
		}
	}
}
