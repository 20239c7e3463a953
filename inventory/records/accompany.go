package records

import (
	"context"
	"reflect"
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

// limitKey is the key of a context's scope.
type limitKey struct{}

// hooked returns the context of the hooks of a change, for [Sees].
func (s *scope) hooked(ctx context.Context) context.Context {
	if s.only == nil {
		return ctx
	}
	return context.WithValue(ctx, limitKey{}, s)
}

// Sees reports whether the caller of a change sees a record ([Engine.LimitTo]), so that an error may
// name it. It is for hooks, with the context that they are called with.
func Sees(ctx context.Context, tx Tx, rec Record) (bool, error) {
	s, limited := ctx.Value(limitKey{}).(*scope)
	if !limited {
		return true, nil
	}
	r, err := tx.Schema().Of(rec)
	if err != nil {
		return false, err
	}
	return s.has(ctx, s.only, r, rec)
}

// accompany makes the changes that go along with one of a record.
func (v *Engine) accompany(ctx context.Context, tx Tx, s *scope, by Caller, r *Resource, before, after Record) error {
	rec := after
	if rec == nil {
		rec = before
	}
	a, ok := rec.(Accompanied)
	if !ok {
		return nil
	}
	changes, err := a.Accompany(s.hooked(ctx), tx, before, after)
	if err != nil {
		return err
	}
	for len(changes) > 0 {
		n := created(changes)
		if n == 0 {
			err, n = v.companion(ctx, tx, s, by, cause(r, rec), changes[0]), 1
		} else {
			err = v.newCompanions(ctx, tx, s, by, cause(r, rec), changes[:n])
		}
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// created returns how many of the first changes create records of one type.
func created(changes []Companion) (n int) {
	for n < len(changes) && changes[n].Before == nil && reflect.TypeOf(changes[n].After) == reflect.TypeOf(changes[0].After) {
		n++
	}
	return n
}

// newCompanions creates records of one resource.
func (v *Engine) newCompanions(ctx context.Context, tx Tx, s *scope, by Caller, cause string, changes []Companion) error {
	r, err := tx.Schema().Of(changes[0].After)
	if err != nil {
		return err
	}
	all := make([]Record, 0, 2*len(changes))
	for _, c := range changes {
		if c.Prepare != nil {
			c.Prepare()
		}
		if err := v.Init(c.After); err != nil {
			return err
		}
		if err := v.prepare(r, c.After, r.CheckNew); err != nil {
			return err
		}
		all = append(all, c.After)
	}
	for _, c := range changes {
		entry, err := v.companionEntry(ctx, s, by, cause, "create", r, c)
		if err != nil {
			return err
		}
		if entry != nil {
			all = append(all, entry)
		}
	}
	return tx.Create(ctx, all...)
}

// companion changes or deletes a record.
func (v *Engine) companion(ctx context.Context, tx Tx, s *scope, by Caller, cause string, c Companion) error {
	if c.Prepare != nil {
		c.Prepare()
	}
	action, rec := "update", c.After
	if rec == nil {
		action, rec = "delete", c.Before
	}
	r, err := tx.Schema().Of(rec)
	if err != nil {
		return err
	}
	if c.After != nil {
		rec.Meta().Version = c.Before.Meta().Version + 1
		rec.Meta().UpdatedAt = storedTime(v.opts.Now())
		if err := v.prepare(r, rec, r.Check); err != nil {
			return err
		}
	}
	entry, err := v.companionEntry(ctx, s, by, cause, action, r, c)
	if err == nil && entry != nil {
		err = tx.Create(ctx, entry)
	}
	switch {
	case err != nil:
		return err
	case c.After != nil:
		return tx.Update(ctx, rec, c.Before.Meta().Version)
	}
	return tx.Delete(ctx, r, rec.Meta().ID, rec.Meta().Version, func(effect *Effect) error {
		return v.logEffect(ctx, tx, s, by, cause, effect)
	})
}

// companionEntry returns the audit log entry of such a change, or an untyped nil if the resource has
// none.
func (v *Engine) companionEntry(ctx context.Context, s *scope, by Caller, cause, action string, r *Resource, c Companion) (Record, error) {
	if r.Unaudited {
		return nil, nil
	}
	entry, err := v.newEntry(ctx, s, by, action, r, c.Before, c.After)
	if err != nil {
		return nil, err
	}
	entry.Cause = cause
	seen := true
	for _, rec := range []Record{c.Before, c.After} {
		if rec != nil && seen {
			if seen, err = s.has(ctx, s.only, r, rec); err != nil {
				return nil, err
			}
		}
	}
	if seen && !r.Internal {
		v.preview.addRequested(r, c.Before, c.After)
		v.preview.add(entry)
	}
	return entry, nil
}
