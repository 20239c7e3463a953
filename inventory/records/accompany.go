package records

import (
	"cmp"
	"context"
)

// Accompanied is a hook of a record whose changes change others with it, in the same transaction:
// those of a cable change its link.
type Accompanied interface {
	// Accompany returns the changes that go along with one of this record, which has been made: before
	// is nil for a new record, after for a deleted one. The engine checks, stores and logs them in
	// order, with this record as their cause, and calls no Accompany for them. It calls Accompany for
	// requested changes only, not for the records that a deletion deletes by their references. An
	// [*Error] refuses the change.
	Accompany(ctx context.Context, tx Tx, before, after Record) ([]Companion, error)
}

// Companion is a change that goes along with another one: of a record that has been read in the
// transaction. Without Before it creates After, without After it deletes Before.
type Companion struct {
	Before, After Record
	// Prepare is called before the change is made, when new records before it have their ids. Nil is
	// nothing to prepare.
	Prepare func()
}

// accompany makes the changes that go along with one of a record.
func (v *Engine) accompany(ctx context.Context, tx Tx, s *scope, by Caller, r *Resource, before, after Record) error {
	rec := cmp.Or(after, before)
	a, ok := rec.(Accompanied)
	if !ok {
		return nil
	}
	var changes []Companion
	err := s.place(ctx, tx, r, before, nil, func() (err error) {
		changes, err = a.Accompany(ctx, tx, before, after)
		return err
	})
	if err != nil {
		return err
	}
	var created, entries []Record
	create := func() error { // records together, which is fastest
		all := append(created, entries...)
		created, entries = nil, nil
		if len(all) == 0 {
			return nil
		}
		return tx.Create(ctx, all...)
	}
	for _, c := range changes {
		of, entry, err := v.companion(ctx, tx, s, by, cause(r, rec), c)
		if err != nil {
			return err
		}
		if entry != nil {
			entries = append(entries, entry)
		}
		if c.Before == nil {
			created = append(created, c.After)
			continue
		}
		if err := create(); err != nil {
			return err
		}
		if base := c.Before.Meta(); c.After != nil {
			err = tx.Update(ctx, c.After, base.Version)
		} else {
			err = tx.Delete(ctx, of, base.ID, base.Version, func(effect *Effect) error {
				return v.logEffect(ctx, tx, s, by, cause(r, rec), effect)
			})
		}
		if err != nil {
			return err
		}
	}
	return create()
}

// companion prepares a change, and returns its audit log entry, an untyped nil if the resource has none.
func (v *Engine) companion(ctx context.Context, tx Tx, s *scope, by Caller, cause string, c Companion) (r *Resource, logged Record, err error) {
	if c.Prepare != nil {
		c.Prepare()
	}
	action, rec := "update", c.After
	switch {
	case c.After == nil:
		action, rec = "delete", c.Before
	case c.Before == nil:
		action, err = "create", v.Init(rec)
	default:
		rec.Meta().Version, rec.Meta().UpdatedAt = c.Before.Meta().Version+1, storedTime(v.opts.Now())
	}
	if err == nil {
		r, err = tx.Schema().Of(rec)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case action == "create":
		err = v.prepare(r, rec, r.CheckNew)
	case action == "update":
		err = v.prepare(r, rec, r.Check)
	}
	if err != nil || r.Unaudited {
		return r, nil, err
	}
	entry, err := v.newEntry(ctx, s, by, action, r, c.Before, c.After)
	if err != nil {
		return nil, nil, err
	}
	entry.Cause = cause
	seen := true
	for _, rec := range []Record{c.Before, c.After} {
		if rec != nil && seen {
			if seen, err = s.has(ctx, r, rec); err != nil {
				return nil, nil, err
			}
		}
	}
	if seen && !r.Internal {
		v.preview.addRequested(r, c.Before, c.After)
		v.preview.add(entry)
	}
	return r, entry, nil
}
