package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Migrations returns the statements of the migrations (records.Migrations) that a database lacks, and note their
// numbers. A new database has the tables of the schema, so that nothing is to be moved there. The error is for a
// database that is too new for the program.
func (d *Dialect) Migrations(schema *records.Schema, have *Catalog) (all []string, err error) {
	migrations := schema.Migrations()
	if len(migrations) == 0 {
		return nil, nil
	}
	own := tablesOf(schema)
	if err := own.outdated(schema, have.versionsOf, have.versions); err != nil {
		return nil, err
	}
	adopts := have.versionsOf == own.shared
	noted := map[string][]string{} // rows of VALUES by table
	note := func(table string, version int64) {
		row := fmt.Sprintf("(%d, %s)", version, d.DDL.Now)
		if !slices.Contains(noted[table], row) {
			noted[table] = append(noted[table], row)
		}
	}
	for _, m := range migrations {
		has := slices.Contains(have.versions, m.Version) || slices.Contains(have.additions, m.Version)
		if !has && have.exists(schema) {
			for _, text := range slices.Concat(m.Statements[""], m.Statements[d.Name]) {
				all = append(all, strings.ReplaceAll(text, "{prefix}", own.prefix))
			}
		}
		switch {
		case has && !adopts:
		case m.Oldest == 0 || has:
			note(own.versions, m.Version)
		default:
			note(own.additions, m.Version)
			if !slices.Contains(have.versions, m.Oldest) {
				note(own.versions, m.Oldest)
			}
		}
	}
	for _, table := range []string{own.versions, own.additions} {
		if have.columns[table] == nil && (table == own.versions || noted[table] != nil) {
			all = append(all, "CREATE TABLE "+table+" (\n    version "+d.DDL.Types[records.Int]+" NOT NULL CONSTRAINT "+
				local(table)+"_pkey PRIMARY KEY,\n    applied_at "+d.DDL.Types[records.Time]+" NOT NULL\n)")
		}
		if noted[table] != nil {
			all = append(all, "INSERT INTO "+table+" (version, applied_at) VALUES "+strings.Join(noted[table], ", "))
		}
	}
	if adopts && !have.hasOthers(schema) {
		all = append(all, "DROP TABLE "+own.shared)
	}
	return all, nil
}

// outdated returns an error if a table has a version that programs must know, and this one does not.
func (own ownTables) outdated(schema *records.Schema, table string, versions []int64) *records.Error {
	known := schema.Migrations()
	for _, version := range slices.Backward(versions) {
		if version == 0 || knows(schema, version) {
			continue
		}
		advice := "use a newer program, or another database or namespace"
		if table == own.shared {
			advice += "; if the version is one of your own migrations, create the table " + own.versions + " as the documentation of sqlstore says"
		}
		return &records.Error{
			Kind: records.Unavailable, Message: "This program is older than the database: update it",
			Err: fmt.Errorf("the table %s has version %d of the schema, and this program supports up to %d: %s", table, version, known[len(known)-1].Version, advice),
		}
	}
	return nil
}

// knows reports whether a schema has a migration.
func knows(schema *records.Schema, version int64) bool {
	return slices.ContainsFunc(schema.Migrations(), func(m records.Migration) bool { return m.Version == version })
}

// migrate brings the schema up to date and fills the keys of existing records. While it takes long, it logs what it
// does.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB, schema *records.Schema, log *slog.Logger) error {
	if d.DDL.Columns == "" {
		return nil
	}
	p := newProgress(log)
	defer p.end()
	return d.complete(ctx, db, p, func(wait bool) (unfilled []*records.Resource, err error) {
		if d.Exclusive == nil {
			return d.generateLocked(ctx, db, schema, wait, p)
		}
		err = d.Exclusive(ctx, db, func(only *sql.DB) error {
			unfilled, _, err = d.generate(ctx, only, schema, wait, p)
			p.run(0, 0, "COMMIT")
			return err
		})
		return unfilled, err
	})
}

// generateLocked generates until nothing is left: again, for as long as the context allows, after a deadlock with a
// transaction of another process, and when one keeps a table for so long that others would wait behind this call.
func (d *Dialect) generateLocked(ctx context.Context, db *sql.DB, schema *records.Schema, wait bool, p *progress) ([]*records.Resource, error) {
	pause := backoff.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Jitter: 1}
	clear(p.made)
	for attempt := 1; ; attempt++ {
		unfilled, more, err := d.generate(ctx, db, schema, wait, p)
		switch {
		case more:
			attempt = 0
			continue
		case err == nil || !slices.Contains([]dialect.Kind{dialect.Retryable, dialect.Locked}, d.Classify(err).Kind):
			return unfilled, err
		}
		p.log.WarnContext(ctx, "the upgrade of the database did not get a lock and begins again", "err", err)
		if err := backoff.Sleep(ctx, pause.Wait(attempt)); err != nil {
			return nil, err
		}
	}
}

// generate applies the migrations that a database lacks, and creates and changes tables, in one transaction. Processes
// take turns: the second finds nothing to do. It returns the resources whose keys are to be filled, and whether changes
// of indexes are left to further calls; wait leaves the indexes of these keys to a later call.
func (d *Dialect) generate(ctx context.Context, db *sql.DB, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, more bool, err error) {
	options := &sql.TxOptions{}
	if d.Lock != nil {
		options.Isolation = sql.LevelReadCommitted // to read what was committed while it waited for the lock
	}
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return nil, false, err
	}
	if err = p.watch(ctx, tx, db, d); err == nil {
		err = d.runAll(ctx, tx, d.Lock, nil)
	}
	if err == nil {
		unfilled, more, err = d.generateIn(ctx, tx, schema, wait, p)
	}
	if err != nil {
		return nil, false, errors.Join(err, tx.Rollback())
	}
	if err = tx.Commit(); err != nil {
		return nil, false, err
	}
	return unfilled, more, nil
}

func (d *Dialect) generateIn(ctx context.Context, tx *sql.Tx, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, more bool, err error) {
	if in, ok := strings.CutSuffix(schema.TablePrefix(), "."); ok {
		if err := d.runAll(ctx, tx, []string{fmt.Sprintf(d.DDL.Namespace, in)}, p); err != nil {
			return nil, false, err
		}
	}
	have, err := d.Catalog(ctx, tx, schema)
	if err != nil {
		return nil, false, err
	}
	statements, err := d.Migrations(schema, have)
	if err != nil {
		return nil, false, err
	}
	for _, version := range have.additions {
		if !knows(schema, version) { // a later program has made the tables fit it, and they still fit this one
			return nil, false, nil
		}
	}
	fills := d.fills(schema, have)
	if len(statements) > 0 {
		if err := d.runAll(ctx, tx, statements, p); err != nil {
			return nil, false, err
		}
		if have, err = d.Catalog(ctx, tx, schema); err != nil {
			return nil, false, err
		}
	}
	if unfilled, err = d.unfilled(ctx, tx, schema, have); err != nil {
		return nil, false, err
	}
	for _, r := range unfilled {
		have.unkeyed[r.Table()] = wait
	}
	if statements, err = d.Statements(schema, have); err != nil {
		return nil, false, err
	}
	if statements = append(statements, fills...); d.Exclusive == nil {
		statements, more = have.apart(slices.DeleteFunc(statements, func(text string) bool { return p.made[text] }))
	}
	if err := d.runAll(ctx, tx, statements, p); err != nil {
		return nil, false, err
	}
	for _, text := range statements {
		p.made[text] = true
	}
	return unfilled, more, nil
}

// indexChange matches a statement that adds or removes an index.
var indexChange = regexp.MustCompile(`^(?:DROP INDEX|CREATE INDEX \S+ ON) (\S+)`)

// apart leaves out the changes of indexes of existing tables, and reports whether it left out any. If there is nothing
// else to do it returns the first of them, all of one table, up to the first index that is built: a transaction that
// locks one table after the other would wait for those that lock them in another order, for as long as the load lasts.
func (c *Catalog) apart(statements []string) (now []string, more bool) {
	var indexes, tables []string
	for i, text := range statements {
		table := ""
		if m := indexChange.FindStringSubmatch(text); m != nil && !(i+1 < len(statements) && strings.HasPrefix(statements[i+1], "CREATE UNIQUE")) {
			table = m[1]
			if in, ok := c.indexes[table]; ok {
				table = in
			}
		}
		if table == "" || c.columns[table] == nil {
			now = append(now, text)
			continue
		}
		indexes, tables = append(indexes, text), append(tables, table)
	}
	if len(now) > 0 || len(indexes) == 0 {
		return now, len(indexes) > 0
	}
	n := 1
	for n < len(indexes) && tables[n] == tables[0] && strings.HasPrefix(indexes[n-1], "DROP") {
		n++
	}
	return indexes[:n], n < len(indexes)
}

// fills returns the statements that fill new columns (records.Migration.Fill) for the migrations that a database lacks.
func (d *Dialect) fills(schema *records.Schema, have *Catalog) (all []string) {
	for _, m := range schema.Migrations() {
		if have.exists(schema) && !slices.Contains(have.versions, m.Version) {
			for _, text := range m.Fill {
				all = append(all, strings.ReplaceAll(text, "{prefix}", schema.TablePrefix()))
			}
		}
	}
	return all
}

// runAll executes statements that change tables.
func (d *Dialect) runAll(ctx context.Context, tx *sql.Tx, statements []string, p *progress) error {
	for i, text := range statements {
		if p != nil {
			p.run(i+1, len(statements), text)
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			switch {
			case d.Classify(err).Kind == dialect.UniqueViolation:
				err = fmt.Errorf("records share the value of a unique key, change them first with a schema without the key: %w", err)
			case checksRecords(text):
				err = fmt.Errorf("records have values that the schema does not allow any more, change them first with the former schema or a migration: %w", err)
			}
			return fmt.Errorf("%w, in the statement %s", err, text)
		}
	}
	return nil
}

// reportProgress is the interval at which the progress of an upgrade is logged.
const reportProgress = 2 * time.Second

// progress logs what an upgrade of the schema does, while it takes long.
type progress struct {
	log   *slog.Logger
	began time.Time
	end   func()
	made  map[string]bool // statements of committed transactions, which are not run again

	mu        sync.Mutex
	statement string
	n, of     int                                       // the number of the statement
	holders   func(ctx context.Context) (string, error) // describes who keeps the statement waiting, nil if unknown
}

// newProgress reports until the function end is called.
func newProgress(log *slog.Logger) *progress {
	p := &progress{log: log, began: time.Now(), statement: "wait for other processes", made: map[string]bool{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	p.end = func() { close(stop); <-stopped }
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(reportProgress)
		defer ticker.Stop()
		for reported := false; ; reported = true {
			select {
			case <-ticker.C:
				p.report()
			case <-stop:
				if reported {
					p.log.Info("the upgrade of the database has ended", "elapsed", p.elapsed())
				}
				return
			}
		}
	}()
	return p
}

// report logs the statement that runs, and who holds a lock that it waits for.
func (p *progress) report() {
	p.mu.Lock()
	holders, args := p.holders, []any{"statement", p.statement, "number", p.n, "of", p.of, "elapsed", p.elapsed()}
	p.mu.Unlock()
	if holders != nil {
		ctx, cancel := context.WithTimeout(context.Background(), reportProgress)
		defer cancel()
		if held, err := holders(ctx); err == nil && held != "" {
			args = append(args, "lock_held_by", held)
		}
	}
	p.log.Info("the database is being upgraded", args...)
}

// watch makes report look for the holders of the locks that a transaction waits for, on another connection.
func (p *progress) watch(ctx context.Context, tx *sql.Tx, db *sql.DB, d *Dialect) error {
	if d.Session == "" {
		return nil
	}
	var session int64
	if err := tx.QueryRowContext(ctx, d.Session).Scan(&session); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders = func(ctx context.Context) (held string, err error) {
		err = db.QueryRowContext(ctx, d.Holders, session).Scan(&held)
		return held, err
	}
	return nil
}

func (p *progress) elapsed() time.Duration { return time.Since(p.began).Round(time.Second) }

// run notes that a statement begins, the nth from 1.
func (p *progress) run(n, of int, statement string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(statement) > 80 {
		statement = statement[:80] + "..."
	}
	p.statement, p.n, p.of = statement, n, of
}
