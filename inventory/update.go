package inventory

import (
	"cmp"
	"context"
	"strings"
)

// attempts is how often a change is tried that others keep coming before.
const attempts = 100

// Update changes records of a resource and returns them as they are then, in the order of
// the edits. An edit that changes nothing leaves its record as it was, version included. If
// somebody else changes a record in between, its edit is applied to the new version,
// unless it says which one it is for.
func (v *Inventory) Update(ctx context.Context, by Caller, r *Resource, edits ...Edit) ([]Record, error) {
	var done []Record
	err := v.edit(ctx, by, r, edits, func(tx Tx, e Edit) (*AuditLog, error) {
		rec, entry, err := v.update(ctx, tx, by, r, e)
		done = append(done, rec)
		return entry, err
	}, func(tx Tx) error {
		done = nil
		return prefetch(ctx, tx, r, edits)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// Delete removes records of a resource. Apply may refuse; what it changes counts for
// nothing.
func (v *Inventory) Delete(ctx context.Context, by Caller, r *Resource, edits ...Edit) error {
	for _, e := range edits {
		if strings.EqualFold(e.ID, by.UserID) {
			by.UserID = "" // who deletes themselves is in the log by name only
		}
	}
	return v.edit(ctx, by, r, edits, func(tx Tx, e Edit) (*AuditLog, error) {
		return v.remove(ctx, tx, by, r, e)
	}, func(Tx) error { return nil })
}

// prefetch reads the records of edits at once, where there are several and the store can.
func prefetch(ctx context.Context, tx Tx, r *Resource, edits []Edit) error {
	p, ok := tx.(Prefetcher)
	if !ok || len(edits) < 2 {
		return nil
	}
	ids := make([]string, 0, len(edits))
	for _, e := range edits {
		if id, err := canonicalID(e.ID); err == nil { // what is wrong with others is told when it is their turn
			ids = append(ids, id)
		}
	}
	return p.Prefetch(ctx, r, ids)
}

// edit makes the changes of several edits in one transaction, and again from the beginning
// if a record changes under it. one makes one change; begin is what comes before the first, and forgets
// those of an attempt before.
func (v *Inventory) edit(ctx context.Context, by Caller, r *Resource, edits []Edit, one func(Tx, Edit) (*AuditLog, error), begin func(Tx) error) error {
	if err := fewEnough(len(edits)); err != nil {
		return err
	}
	for try := 1; ; try++ {
		var watched *watchedTx
		err := v.change(ctx, by, func(tx Tx) error {
			watched = &watchedTx{Tx: tx}
			if err := begin(tx); err != nil {
				return err
			}
			return editAll(ctx, watched, r, edits, one)
		})
		if err == nil || watched == nil || !watched.overtaken || try == attempts {
			return err
		}
	}
}

// editAll makes the changes, and their entries in the log all at once.
func editAll(ctx context.Context, tx Tx, r *Resource, edits []Edit, one func(Tx, Edit) (*AuditLog, error)) error {
	var entries []Record
	var wrong []ItemError
	for i, e := range edits {
		entry, err := one(tx, e)
		if wrong, err = AppendItemError(wrong, i, e.ID, err); err != nil {
			return err
		}
		if entry != nil {
			entries = append(entries, entry)
		}
	}
	if len(wrong) > 0 || len(entries) == 0 {
		return JoinItemErrors(r, wrong, len(edits))
	}
	return tx.Create(ctx, entries...)
}

// watchedTx notices when a record is no longer what the transaction has read.
type watchedTx struct {
	Tx
	overtaken bool
}

func (tx *watchedTx) Update(ctx context.Context, rec Record, version int64) error {
	return tx.watch(tx.Tx.Update(ctx, rec, version))
}

func (tx *watchedTx) Delete(ctx context.Context, r *Resource, id string, version int64) error {
	return tx.watch(tx.Tx.Delete(ctx, r, id, version))
}

func (tx *watchedTx) watch(err error) error {
	tx.overtaken = tx.overtaken || KindOf(err) == Stale
	return err
}

// apply returns the record of an edit as it is, and what the edit makes of it.
func (v *Inventory) apply(ctx context.Context, tx Tx, r *Resource, e Edit) (before, after Record, err error) {
	id, err := canonicalID(e.ID)
	if err != nil {
		return nil, nil, r.invalid([]FieldError{{"id", err.Error()}})
	}
	if before, err = tx.Get(ctx, r, id); err != nil {
		return nil, nil, err
	}
	if e.Version != 0 && e.Version != before.Meta().Version {
		return nil, nil, Outdated(r)
	}
	after = Clone(before)
	if e.Apply != nil {
		err = e.Apply(after)
	}
	return before, after, err
}

// update makes one change. There is no entry for one that changes nothing.
func (v *Inventory) update(ctx context.Context, tx Tx, by Caller, r *Resource, e Edit) (Record, *AuditLog, error) {
	before, after, err := v.apply(ctx, tx, r, e)
	if err != nil {
		return nil, nil, err
	}
	*after.Meta() = *before.Meta()
	if err := v.prepare(after, Check); err != nil {
		return nil, nil, err
	}
	if r.alike(before, after) {
		return before, nil, nil
	}
	after.Meta().Version++
	after.Meta().UpdatedAt = instant(v.opts.Now())
	entry, err := v.entry(by, cmp.Or(e.actionOf(before, after), action(e, "update")), before, after)
	if err != nil {
		return nil, nil, err
	}
	return after, entry, tx.Update(ctx, after, before.Meta().Version)
}

func (v *Inventory) remove(ctx context.Context, tx Tx, by Caller, r *Resource, e Edit) (*AuditLog, error) {
	before, _, err := v.apply(ctx, tx, r, e)
	if err != nil {
		return nil, err
	}
	entry, err := v.entry(by, action(e, "delete"), before, nil)
	if err != nil {
		return nil, err
	}
	return entry, tx.Delete(ctx, r, before.Meta().ID, before.Meta().Version)
}

// actionOf is what ActionOf says of an update, empty if it says nothing.
func (e *Edit) actionOf(before, after Record) string {
	if e.ActionOf == nil {
		return ""
	}
	return e.ActionOf(before, after)
}

func action(e Edit, byDefault string) string {
	if e.Action != "" {
		return e.Action
	}
	return byDefault
}

// alike reports whether two records are the same, hidden fields included.
func (r *Resource) alike(a, b Record) bool {
	for _, f := range r.fields {
		if !f.same(f.valueOrNil(a), f.valueOrNil(b)) {
			return false
		}
	}
	return true
}
