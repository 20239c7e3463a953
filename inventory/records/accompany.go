package records

import "context"

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
type Companion struct{ Before, After Record }

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
	for _, c := range changes {
		if err := v.companion(ctx, tx, s, by, cause(r, rec), c); err != nil {
			return err
		}
	}
	return nil
}

// companion makes one of these changes.
func (v *Engine) companion(ctx context.Context, tx Tx, s *scope, by Caller, cause string, c Companion) error {
	action, rec, check := "update", c.After, (*Resource).Check
	switch {
	case c.After == nil:
		action, rec = "delete", c.Before
	case c.Before == nil:
		action, check = "create", (*Resource).CheckNew
		if err := v.Init(rec); err != nil {
			return err
		}
	}
	r, err := tx.Schema().Of(rec)
	if err != nil {
		return err
	}
	if action == "update" {
		rec.Meta().Version = c.Before.Meta().Version + 1
		rec.Meta().UpdatedAt = storedTime(v.opts.Now())
	}
	if action != "delete" {
		if err := v.prepare(r, rec, func(rec Record) error { return check(r, rec) }); err != nil {
			return err
		}
	}
	if err := v.logCompanion(ctx, tx, s, by, cause, action, r, c); err != nil {
		return err
	}
	switch action {
	case "create":
		return tx.Create(ctx, rec)
	case "update":
		return tx.Update(ctx, rec, c.Before.Meta().Version)
	}
	return tx.Delete(ctx, r, rec.Meta().ID, rec.Meta().Version, func(effect *Effect) error {
		return v.logEffect(ctx, tx, s, by, cause, effect)
	})
}

// logCompanion adds the audit log entry of such a change.
func (v *Engine) logCompanion(ctx context.Context, tx Tx, s *scope, by Caller, cause, action string, r *Resource, c Companion) error {
	if r.Unaudited {
		return nil
	}
	entry, err := v.newEntry(ctx, s, by, action, r, c.Before, c.After)
	if err != nil {
		return err
	}
	entry.Cause = cause
	seen := true
	for _, rec := range []Record{c.Before, c.After} {
		if rec != nil && seen {
			if seen, err = s.has(ctx, s.only, r, rec); err != nil {
				return err
			}
		}
	}
	if seen && !r.Internal {
		v.preview.addRequested(r, c.Before, c.After)
		v.preview.add(entry)
	}
	return tx.Create(ctx, entry)
}
