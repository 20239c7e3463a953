package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
)

// fault says what an error means.
func (s *shared) fault(err error) Fault {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return Fault{Kind: Down}
	}
	return s.dialect.Fault(err)
}

// failure makes an error of this package from one of the database. It is nil for nil, and
// leaves those of the inventory.
func (s *shared) failure(ctx context.Context, what string, err error) error {
	switch {
	case err == nil, inventory.KindOf(err) != 0:
		return err
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		// Drivers have words of their own for a call that was given up.
		return fmt.Errorf("%s: %w (%w)", what, ctx.Err(), err)
	case ctx.Err() == nil && s.fault(err).Kind == Down:
		return unavailable(what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func unavailable(what string, err error) error {
	return &inventory.Error{
		Kind: inventory.Unavailable, Message: "The database is not available: try again later",
		Err: fmt.Errorf("%s: %w", what, err),
	}
}

// broken is the inventory's error for records of one table that break a constraint, or
// else the failure. created says that they were to be added, and not changed.
func (s *session) broken(ctx context.Context, t *table, what string, err error, created bool, records []inventory.Record) error {
	f := s.fault(err)
	var wrong *inventory.Error
	var err2 error
	switch {
	case f.Kind == ForeignKey:
		wrong, err2 = s.dangling(ctx, t, &f, records)
	case f.Constraint == "":
		wrong, err2 = s.taken(ctx, t, created, records)
	}
	switch {
	case err2 != nil:
		return s.failure(ctx, what, errors.Join(err, err2))
	case wrong != nil:
		return wrong
	case f.Kind == Unique:
		return t.duplicate(&f)
	}
	return s.failure(ctx, what, err)
}

// duplicate is the error for a constraint by its name or its columns.
func (t *table) duplicate(f *Fault) *inventory.Error {
	if key, ok := t.unique(f); ok {
		return inventory.Duplicate(t.Resource, key)
	}
	return inventory.DuplicateID(t.Resource)
}

// taken is the error for the first key of a record that another one has. Databases that
// don't name constraints look at them in an order of their own. It is nil if the records
// are in conflict with each other only.
func (s *session) taken(ctx context.Context, t *table, created bool, records []inventory.Record) (*inventory.Error, error) {
	for _, rec := range records {
		if there, err := s.there(ctx, t.version, rec.Meta().ID); created && (there || err != nil) {
			return inventory.DuplicateID(t.Resource), err
		}
		for _, key := range t.uniques {
			if there, err := s.holds(ctx, t, key, rec); there || err != nil {
				return inventory.Duplicate(t.Resource, key), err
			}
		}
	}
	return nil, nil
}

// holds reports whether a record other than this one has its key.
func (s *session) holds(ctx context.Context, t *table, key inventory.Unique, rec inventory.Record) (bool, error) {
	b := &builder{shared: s.shared, table: t}
	conditions := []string{"id <> " + b.arg(rec.Meta().ID)}
	for _, name := range key.Fields {
		f, _ := t.Field(name)
		value := f.Value(rec)
		if value == nil {
			return false, nil
		}
		conditions = append(conditions, b.equal(f, f.Column, value))
	}
	return s.there(ctx, "SELECT id FROM "+t.name+where(conditions), b.args...)
}

// there reports whether a statement finds anything.
func (s *session) there(ctx context.Context, text string, args ...any) (there bool, err error) {
	err = s.each(ctx, 1, func([]any) error { there = true; return nil }, text, args...)
	return there, err
}

// dangling is the error for a reference to what is not there. Where the database does not
// tell which, it is looked for.
func (s *session) dangling(ctx context.Context, t *table, f *Fault, records []inventory.Record) (*inventory.Error, error) {
	for _, c := range t.columns {
		switch {
		case c.Ref == nil:
			continue
		case f.Constraint == ReferenceName(t.Resource, c.Field):
			return inventory.Dangling(t.Resource, c.Field), nil
		case f.Constraint != "":
			continue
		}
		if lost, err := s.lost(ctx, c, records); lost || err != nil {
			return inventory.Dangling(t.Resource, c.Field), err
		}
	}
	return nil, nil
}

// lost reports whether one of the records refers to what is not there.
func (s *session) lost(ctx context.Context, c *column, records []inventory.Record) (bool, error) {
	to, _ := inventory.Named(c.Ref.To)
	for _, rec := range records {
		id := c.Value(rec)
		if id == nil {
			continue
		}
		if there, err := s.there(ctx, s.tables[to].version, id); !there || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}
