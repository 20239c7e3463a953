package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// declarations follows the records that declare parts of the schema (records.Declarer).
type declarations struct {
	mu      sync.Mutex    // held while a transaction commits that changes the schema
	refresh chan struct{} // full while the store adopts the schema of the database
	changed chan struct{} // a statement failed because the schema may have changed
	stop    context.CancelFunc
	stopped chan struct{}
}

// pollSchema is the interval at which a store looks for changes of the schema by other processes.
const pollSchema = 2 * time.Second

// declares notes that a transaction changes a record of a resource, which may declare a part of the
// schema.
func (t *transaction) declares(of *table) {
	for _, r := range t.schema.Declaring() {
		t.declaring = t.declaring || r.Name == of.Name
	}
}

// declare creates and removes the columns of declared fields, if the transaction has changed
// records that declare some.
func (t *transaction) declare(ctx context.Context) error {
	if !t.declaring {
		return nil
	}
	const what = "change the schema"
	d := &t.dialect
	within, cancel := t.within(ctx)
	defer cancel()
	run := func(statements ...string) error {
		for _, text := range statements {
			if _, err := t.tx.ExecContext(within, text); err != nil {
				return fmt.Errorf("%w, in the generated statement %s", err, text)
			}
		}
		return nil
	}
	if err := run(d.DDL.Begin...); err != nil {
		return t.end(ctx, what, err)
	}
	next, err := t.declared(within, t.schema)
	if err != nil {
		return t.end(ctx, what, err)
	}
	have, err := d.Catalog(within, t.tx, next)
	if err != nil {
		return t.end(ctx, what, err)
	}
	have.filled, have.fixed = nil, true // the counts of the transaction are written later
	statements, err := d.Statements(next, have)
	if err == nil { // what a program of another version has left otherwise is not changed under load
		var others []string
		others, err = d.Statements(t.schema, have)
		statements = slices.DeleteFunc(statements, func(text string) bool { return slices.Contains(others, text) })
	}
	for _, removed := range t.schema.Removed(next) {
		t.counts.changes(t.table(removed.From)) // a field of the same name may follow
	}
	for _, added := range next.Removed(t.schema) {
		if f := added.Field; f.Counted && !have.counted[countKey{resource: added.From.Table(), field: f.Column}] {
			statements = append(statements, countExisting(t.own, added.From, f.Column)...)
		}
	}
	if err == nil {
		err = run(append(d.removal(t.schema, next, have), statements...)...)
	}
	t.next = next
	return t.end(ctx, what, err)
}

// removal returns the statements that remove declared fields, with their values.
func (d *Dialect) removal(old, next *records.Schema, have *Catalog) (statements []string) {
	for _, removed := range old.Removed(next) {
		table, column := removed.From.Table(), removed.Field.Column
		if _, exists := have.columns[table][column]; !exists {
			continue
		}
		if name, _ := d.fieldIndex(removed.From, removed.Field); have.indexes[name] != "" {
			statements = append(statements, "DROP INDEX "+name)
		}
		if have.has(table, orderField(removed.Field)) && removed.Field.Keyed() {
			statements = append(statements, "ALTER TABLE "+table+" DROP COLUMN "+KeyColumn(removed.Field))
		}
		statements = append(statements, "ALTER TABLE "+table+" DROP COLUMN "+column,
			"DELETE FROM "+tablesOf(old).counts+" WHERE resource = "+literal(table)+" AND field = "+literal(column))
	}
	return statements
}

// declared returns a schema with the parts that the records in the database declare.
func (e *executor) declared(ctx context.Context, schema *records.Schema) (*records.Schema, error) {
	var recs []records.Record
	for _, r := range schema.Declaring() {
		page, err := e.list(ctx, &records.Query{Resource: r})
		if err != nil {
			return nil, err
		}
		recs = append(recs, page.Records...)
	}
	return schema.Declared(recs)
}

// stamp tells apart the sets of records that declare parts of the schema. Ids grow.
type stamp struct {
	records, versions int64
	last              string
}

// stampOf returns the stamp of the records that a schema follows.
func stampOf(schema *records.Schema) (s stamp) {
	for id, version := range schema.Versions() {
		s = stamp{s.records + 1, s.versions + version, max(s.last, id)}
	}
	return s
}

// stamp returns the stamp of the records in the database.
func (e *executor) stamp(ctx context.Context) (now stamp, err error) {
	for _, r := range e.schema.Declaring() {
		err = e.each(ctx, 3, func(row []any) error {
			n, _ := row[0].(int64)
			versions, _ := row[1].(int64)
			last, _ := row[2].(string)
			now = stamp{now.records + n, now.versions + versions, max(now.last, last)}
			return nil
		}, "SELECT count(*), CAST(coalesce(sum(version), 0) AS bigint), max(id) FROM "+r.Table())
	}
	return now, err
}

// checkSchema ends a transaction that does not know a field of the database, and would not count
// its values. The store that adds a field waits for earlier transactions that change its table.
func (t *transaction) checkSchema(ctx context.Context) error {
	if len(t.schema.Declaring()) == 0 || t.dialect.DDL.Columns == "" || t.declaring || len(t.counts) == 0 {
		return nil
	}
	now, err := t.stamp(ctx)
	if err == nil && now != stampOf(t.schema) {
		t.outcome, err = retrySchema, errSchema
	}
	return t.end(ctx, "read the schema", err)
}

var errSchema = errors.New("another process has changed the schema: this transaction runs again with the new one")

// commit commits the transaction and adopts the schema that it has declared.
func (t *transaction) commit(ctx context.Context) error {
	if t.next == nil {
		return t.tx.Commit()
	}
	t.declarations.mu.Lock() // so that the schemas follow each other as the commits do
	err := t.tx.Commit()
	if err == nil {
		t.shared.current.Store(t.next)
	}
	t.declarations.mu.Unlock()
	if err != nil {
		return err
	}
	if t.dialect.Exclusive != nil { // it notes the tables that a file has
		return t.dialect.Exclusive(ctx, t.db, func(*sql.DB) error { return nil })
	}
	return nil
}

// refreshing is the key of a context in which the store adopts the schema.
type refreshing struct{}

// refresh adopts the schema that the records in the database declare, and generates what the
// database lacks of it. Calls that come meanwhile wait for the first one, which does it for all.
func (s *Store) refresh(ctx context.Context) error {
	if len(s.Schema().Declaring()) == 0 {
		return nil
	}
	if ctx.Value(refreshing{}) == nil { // else its transaction runs again
		select {
		case s.declarations.refresh <- struct{}{}:
			defer func() { <-s.declarations.refresh }()
		case <-ctx.Done():
			return s.failure(ctx, "wait for the schema", ctx.Err())
		}
		ctx = context.WithValue(ctx, refreshing{}, true)
	}
	schema := s.Schema()
	e := &executor{shared: s.shared, schema: schema, db: s.fresh(), until: time.Now().Add(s.opts.Timeout)}
	if now, err := e.stamp(ctx); err != nil || now == stampOf(schema) {
		return s.failure(ctx, "read the schema", err)
	}
	// The records are read in the transaction: another process may just change them.
	return s.Change(ctx, func(tx records.Tx) error {
		tx.(*transaction).declaring = true
		return nil
	})
}

// checkVersion looks for migrations that this program must know and does not. From then on calls fail, until the
// database is as it was.
func (s *Store) checkVersion(ctx context.Context) {
	if len(s.Schema().Migrations()) == 0 {
		return
	}
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	var versions []int64
	var version int64
	if scan(within, s.fresh(), "SELECT version FROM "+s.own.versions+" ORDER BY version", func() { versions = append(versions, version) }, &version) != nil {
		return // the next one tries again; calls report what fails
	}
	err := s.own.outdated(s.Schema(), s.own.versions, versions)
	if before := s.outdated.Swap(err); before == nil && err != nil {
		s.opts.Log.ErrorContext(ctx, "this program is older than the database: requests get 503 until it is updated", "err", err)
	}
}

// follow adopts the schema, and later the changes of it by other processes, until the store is
// closed.
func (s *Store) follow(ctx context.Context) error {
	if s.dialect.DDL.Columns == "" {
		return nil
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	ctx, s.declarations.stop = context.WithCancel(context.Background())
	s.declarations.stopped = make(chan struct{})
	go func() {
		defer close(s.declarations.stopped)
		ticker := time.NewTicker(pollSchema)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			case <-s.declarations.changed:
			}
			s.checkVersion(ctx)
			_ = s.refresh(ctx) // the next one tries again; calls report what fails
		}
	}()
	return nil
}

// unfollow ends what follow has started.
func (s *Store) unfollow() {
	if s.declarations.stop != nil {
		s.declarations.stop()
		<-s.declarations.stopped
	}
}
