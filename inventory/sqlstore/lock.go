package sqlstore

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Lock reads a record that no other transaction changes until this one ends (records.Locker).
func (t *transaction) Lock(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if t.dialect.ForShare == "" || t.ended != nil {
		return t.Get(ctx, r, id)
	}
	of := t.table(r)
	var rec records.Record
	err := t.each(ctx, len(of.columns), func(row []any) (err error) {
		rec, err = of.record(row)
		return err
	}, of.get+t.dialect.ForShare, id, t.Schema().TablePrefix()+lockName(of, id))
	switch {
	case err != nil:
		return nil, t.end(ctx, "lock one of "+r.Name, err)
	case rec == nil:
		return nil, records.Absent(r)
	}
	return rec, nil
}

// awaitLocks waits for the transactions that have locked a record that is to be changed.
func (t *transaction) awaitLocks(ctx context.Context, of *table, id string) error {
	if !of.Lockable {
		return nil
	}
	return t.Serialize(ctx, lockName(of, id))
}

func lockName(of *table, id string) string { return of.Name + "/" + id }

// Serialize waits for other transactions of the same name (records.Locker). Locks belong to the whole database, so their names
// begin with the namespace.
func (t *transaction) Serialize(ctx context.Context, name string) error {
	if t.dialect.Serialize == "" || t.ended != nil {
		return t.ended
	}
	err := t.each(ctx, 1, func([]any) error { return nil }, t.dialect.Serialize, t.Schema().TablePrefix()+name)
	return t.end(ctx, "wait for other changes of "+name, err)
}
