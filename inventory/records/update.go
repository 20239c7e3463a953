package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxAttempts bounds the retries of a change that loses against concurrent changes.
const maxAttempts = 100

// Update changes records of a resource and returns the results in the order of the edits. An
// edit without an effect leaves its record and the version unchanged. If another change of a
// record comes in between, its edit is applied to the new version, unless it names a version.
func (v *Engine) Update(ctx context.Context, by Caller, r *Resource, edits ...Edit) ([]Record, error) {
	return v.edit(ctx, by, r, edits, false)
}

// Delete removes records of a resource. Apply may refuse; its changes are ignored.
func (v *Engine) Delete(ctx context.Context, by Caller, r *Resource, edits ...Edit) error {
	_, err := v.edit(ctx, by, r, edits, true)
	return err
}

// remove applies one edit that deletes its record.
func (v *Engine) remove(ctx context.Context, tx Tx, s *scope, by Caller, r *Resource, e Edit) (rec, entry Record, err error) {
	_, before, _, err := v.apply(ctx, tx, s, r, e)
	if err != nil {
		return nil, nil, err
	}
	if entry, err = v.entry(ctx, s, by, cmp.Or(e.Action, "delete"), r, before, nil); err != nil {
		return nil, nil, err
	}
	if err := restricted(ctx, tx, r, before); err != nil {
		return nil, nil, err
	}
	if err := r.hook(ctx, tx, before, nil); err != nil {
		return nil, nil, err
	}
	err = tx.Delete(ctx, r, before.Meta().ID, before.Meta().Version, func(effect *Effect) error {
		return v.logEffect(ctx, tx, s, by, cause(r, before), effect)
	})
	if err != nil {
		return nil, nil, undeletable(r, err)
	}
	return nil, entry, v.accompany(ctx, tx, s, by, r, before, nil)
}

// undeletable explains a conflict of a deletion, which is one of other records.
func undeletable(r *Resource, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Conflict || errors.Is(err, errReferred) {
		return err
	}
	message := r.Label + " can't be deleted: a record that refers to it would become a duplicate: " + e.Message
	return &Error{Kind: Conflict, Code: e.Code, Message: message, Fields: e.Fields, Err: e.Err}
}

var errReferred = errors.New("records refer to one that is to be deleted")

// restricted refuses the deletion of a record that others refer to with a reference that restricts it.
func restricted(ctx context.Context, tx Tx, r *Resource, rec Record) error {
	var found []string
	for _, ref := range r.referrers {
		if !ref.Field.Ref.Restrict {
			continue
		}
		n, err := Count(ctx, tx, &Query{Resource: ref.From}, ref.Field.Name, rec.Meta().ID)
		if err != nil {
			return err
		}
		if n > 0 {
			found = append(found, fmt.Sprintf("%d of %s", n, ref.From.Name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return referred(r, strings.Join(found, " and "))
}

// referred returns the error for a deletion that references restrict.
func referred(r *Resource, by string) *Error {
	return &Error{Kind: Conflict, Code: "in_use", Err: errReferred, Message: r.Label + " can't be deleted: " + by + " refer to it: delete or change these first"}
}

// cause names a record in [AuditLog.Cause].
func cause(r *Resource, rec Record) string { return r.Kind() + "/" + rec.Meta().ID }

// logEffect adds the audit log entries for records that a deletion deletes or changes.
func (v *Engine) logEffect(ctx context.Context, tx Tx, s *scope, by Caller, cause string, effect *Effect) error {
	if effect.Cleared != nil && effect.Cleared.Ref.Restrict {
		return referred(effect.Cleared.Ref.Resource(), "some of "+effect.Resource.Name) // which have just been added
	}
	if !effect.Resource.Unaudited {
		if err := s.load(ctx, effect.Resource, effect.Before...); err != nil {
			return err
		}
	}
	for i, before := range effect.Before {
		effect.Before[i] = s.full(before)
	}
	shown, err := s.shown(ctx, effect)
	if err != nil {
		return err
	}
	v.preview.addEffect(shown)
	entries := make([]Record, 0, len(effect.Before))
	for _, before := range effect.Before {
		action, after := "delete", Record(nil)
		if effect.Cleared != nil {
			action, after = "update", Clone(before)
			effect.Cleared.clear(after)
		}
		if err := effect.Resource.hook(ctx, tx, before, after); err != nil {
			return err
		}
		entry, err := v.newEntry(ctx, s, by, action, effect.Resource, before, after)
		if err != nil {
			return err
		}
		entry.Cause = cause
		if slices.Contains(shown.Before, before) {
			v.preview.add(entry)
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 || effect.Resource.Unaudited {
		return nil
	}
	return tx.Create(ctx, entries...)
}

// prefetch reads the records of several edits at once, if the store can.
func prefetch(ctx context.Context, tx Tx, r *Resource, edits []Edit) error {
	p, ok := tx.(Prefetcher)
	if !ok || len(edits) < 2 {
		return nil
	}
	ids := make([]string, 0, len(edits))
	for _, e := range edits {
		if id, err := canonicalID(e.ID); err == nil { // apply reports an invalid id
			ids = append(ids, id)
		}
	}
	return p.Prefetch(ctx, r, ids)
}

// edit applies several edits in one transaction, and adds their audit log entries in one call. It retries the
// transaction if a record changes in between.
func (v *Engine) edit(ctx context.Context, by Caller, r *Resource, edits []Edit, removes bool) (done []Record, err error) {
	if err := checkItems(len(edits)); err != nil {
		return nil, err
	}
	one := v.update
	if removes {
		one = v.remove
	}
	for attempt := 1; ; attempt++ {
		stale := false
		err := v.change(ctx, func(tx Tx) error {
			stale, done = false, nil
			s := v.scope(tx, removes) // in bulk it would discard what was prefetched
			if !removes {
				if err := prefetch(ctx, tx, r, edits); err != nil {
					return err
				}
			}
			if v.within == nil && len(edits) > 1 {
				s.vacated = &vacated{leavers: map[string]*leaver{}}
			}
			first := s.vacated.items
			s.vacated.items += len(edits)
			var entries []Record
			var failed []ItemError
			for i, e := range edits {
				s.item = ItemError{Index: first + i, ID: e.ID}
				rec, entry, err := one(ctx, tx, s, by, r, e)
				_, own := errors.AsType[refusedEdit](err)
				stale = stale || KindOf(err) == Stale && !own
				if failed, err = AppendItemError(failed, i, e.ID, err); err != nil {
					return err
				}
				if done = append(done, rec); entry != nil {
					entries = append(entries, entry)
				}
			}
			err := JoinItemErrors(r, failed, len(edits))
			if v.within == nil {
				err = s.settle(ctx, tx, r, failed)
			}
			if err != nil || len(entries) == 0 {
				return err
			}
			return tx.Create(ctx, entries...)
		})
		if stale && v.within != nil {
			v.within.stale = true // the whole transaction runs again
			return nil, err
		}
		if err == nil || !stale || attempt == maxAttempts {
			return done, err
		}
	}
}

// refusedEdit is an error of kind Stale that an edit has caused itself. Others are of records that have changed since
// the transaction read them.
type refusedEdit struct{ error }

func (e refusedEdit) Unwrap() error { return e.error }

// apply returns the record of an edit as it is stored, and before and after Apply with the keys and places that it has left.
func (v *Engine) apply(ctx context.Context, tx Tx, s *scope, r *Resource, e Edit) (stored, before, after Record, err error) {
	id, err := canonicalID(e.ID)
	if err != nil {
		return nil, nil, nil, r.refuse("id", err)
	}
	if stored, err = tx.Get(ctx, r, id); err != nil {
		return nil, nil, nil, err
	}
	before = s.full(stored)
	if err := s.checkFound(ctx, r, before); err != nil {
		return nil, nil, nil, err
	}
	after = Clone(before)
	switch {
	case e.Version != 0 && e.Version != before.Meta().Version:
		err = Outdated(r)
	case e.Apply != nil:
		err = e.Apply(after)
	}
	if s.only != nil {
		r.keepHidden(before, after)
	}
	if KindOf(err) == Stale {
		err = refusedEdit{err}
	}
	return stored, before, after, err
}

// update applies one edit. An edit without an effect has no audit log entry.
func (v *Engine) update(ctx context.Context, tx Tx, s *scope, by Caller, r *Resource, e Edit) (rec, entry Record, err error) {
	stored, before, after, err := v.apply(ctx, tx, s, r, e)
	if err != nil {
		return nil, nil, err
	}
	extra := after.Meta().Extra
	*after.Meta() = *before.Meta()
	after.Meta().Extra = extra
	if err := v.prepare(r, after, r.Check); err != nil {
		return nil, nil, err
	}
	changed, volatile := r.changes(before, after)
	if changed && len(r.onChange) > 0 {
		if err := r.hook(ctx, tx, before, after); err != nil {
			return nil, nil, err
		}
		if err := v.prepare(r, after, r.Check); err != nil {
			return nil, nil, err
		}
		changed, volatile = r.changes(before, after)
	}
	if !changed {
		return before, nil, nil
	}
	if err := s.checkResult(ctx, r, before, after); err != nil {
		return nil, nil, err
	}
	if t, ok := after.(TxValidator); ok {
		if err := s.place(ctx, tx, r, stored, nil, func() error { return t.ValidateIn(ctx, tx, stored) }); err != nil {
			return nil, nil, err
		}
	}
	if !volatile {
		after.Meta().Version++
		after.Meta().UpdatedAt = storedTime(v.opts.Now())
	}
	action := ""
	if e.ActionOf != nil {
		action = e.ActionOf(before, after)
	}
	entry, err = v.entry(ctx, s, by, cmp.Or(action, e.Action, "update"), r, before, after)
	if err != nil {
		return nil, nil, err
	}
	if logged, ok := entry.(*AuditLog); ok {
		maps.Copy(logged.Changes, e.Note)
	}
	if err := s.place(ctx, tx, r, stored, after, func() error { return tx.Update(ctx, after, stored.Meta().Version) }); err != nil {
		return nil, nil, err
	}
	delete(s.vacated.leavers, before.Meta().ID)
	return after, entry, v.accompany(ctx, tx, s, by, r, before, after)
}

// changes reports whether records differ, and whether only volatile fields do.
func (r *Resource) changes(before, after Record) (changed, volatile bool) {
	volatile = true
	for _, f := range r.fields { // hidden fields included
		if !f.same(f.valueOrNil(before), f.valueOrNil(after)) {
			changed, volatile = true, volatile && f.Volatile
		}
	}
	return changed, volatile
}
