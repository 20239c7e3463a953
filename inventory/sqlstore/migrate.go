package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Migrations returns the statements of the migrations (records.Migrations) that a database lacks, and note their
// numbers. A new database has the tables of the schema, so that nothing is to be moved there. The error is for a
// database that is newer than the program, which would not store the fields that it does not know.
func (d *Dialect) Migrations(schema *records.Schema, have *Catalog) (all []string, err error) {
	migrations := schema.Migrations()
	if len(migrations) == 0 {
		return nil, nil
	}
	own := tablesOf(schema)
	adopts := have.versionsOf == own.shared
	for _, version := range slices.Backward(have.versions) {
		if version == 0 || slices.ContainsFunc(migrations, func(m records.Migration) bool { return m.Version == version }) {
			continue
		}
		advice := "use a newer program, or another database or namespace"
		if adopts {
			advice += "; if the version is one of your own migrations, create the table " + own.versions + " as the documentation of sqlstore says"
		}
		return nil, fmt.Errorf("the table %s has version %d of the schema, and this program supports up to %d: %s",
			have.versionsOf, version, migrations[len(migrations)-1].Version, advice)
	}
	if have.versionsOf != own.versions {
		all = append(all, "CREATE TABLE "+own.versions+" (\n    version "+d.DDL.Types[records.Int]+" NOT NULL CONSTRAINT "+
			local(own.versions)+"_pkey PRIMARY KEY,\n    applied_at "+d.DDL.Types[records.Time]+" NOT NULL\n)")
	}
	var noted []string
	for _, m := range migrations {
		has := slices.Contains(have.versions, m.Version)
		if !has && have.exists(schema) {
			for _, text := range slices.Concat(m.Statements[""], m.Statements[d.Name]) {
				all = append(all, strings.ReplaceAll(text, "{prefix}", own.prefix))
			}
		}
		if !has || adopts {
			noted = append(noted, fmt.Sprintf("(%d, %s)", m.Version, d.DDL.Now))
		}
	}
	if len(noted) > 0 {
		all = append(all, "INSERT INTO "+own.versions+" (version, applied_at) VALUES "+strings.Join(noted, ", "))
	}
	if adopts && !have.hasOthers(schema) {
		all = append(all, "DROP TABLE "+own.shared)
	}
	return all, nil
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
			return d.generate(ctx, db, schema, wait, p)
		}
		err = d.Exclusive(ctx, db, func(only *sql.DB) error {
			unfilled, err = d.generate(ctx, only, schema, wait, p)
			p.run(0, 0, "COMMIT")
			return err
		})
		return unfilled, err
	})
}

// generate applies the migrations that a database lacks, and creates and changes tables, in one transaction. Processes
// take turns: the second finds nothing to do. It returns the resources whose keys are to be filled; wait leaves the
// indexes of these keys to a later call.
func (d *Dialect) generate(ctx context.Context, db *sql.DB, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if d.Lock != "" {
		if _, err := conn.ExecContext(ctx, d.Lock); err != nil {
			return nil, err
		}
		defer func() {
			_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), d.Unlock)
			err = errors.Join(err, unlocked)
		}()
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if unfilled, err = d.generateIn(ctx, tx, schema, wait, p); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return unfilled, tx.Commit()
}

func (d *Dialect) generateIn(ctx context.Context, tx *sql.Tx, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, err error) {
	if in, ok := strings.CutSuffix(schema.TablePrefix(), "."); ok {
		if err := d.runAll(ctx, tx, []string{fmt.Sprintf(d.DDL.Namespace, in)}, p); err != nil {
			return nil, err
		}
	}
	have, err := d.Catalog(ctx, tx, schema)
	if err != nil {
		return nil, err
	}
	statements, err := d.Migrations(schema, have)
	if err != nil {
		return nil, err
	}
	fills := d.fills(schema, have)
	if len(statements) > 0 {
		if err := d.runAll(ctx, tx, statements, p); err != nil {
			return nil, err
		}
		if have, err = d.Catalog(ctx, tx, schema); err != nil {
			return nil, err
		}
	}
	if unfilled, err = d.unfilled(ctx, tx, schema, have); err != nil {
		return nil, err
	}
	for _, r := range unfilled {
		have.unkeyed[r.Table()] = wait
	}
	if statements, err = d.Statements(schema, have); err != nil {
		return nil, err
	}
	return unfilled, d.runAll(ctx, tx, append(statements, fills...), p)
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
		p.run(i+1, len(statements), text)
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
