package records

import "context"

// Locker is implemented by a [Tx] of a store that runs several changes at once.
type Locker interface {
	// Lock is Get for a record of a Lockable resource that no other transaction changes or deletes
	// until this one ends: it waits for those that do, or wait to. Others may lock it too.
	Lock(ctx context.Context, r *Resource, id string) (Record, error)
	// Serialize waits until no other transaction runs that has called it with this name. Call it
	// before any other method.
	Serialize(ctx context.Context, name string) error
}

// Lock calls the method of a [Locker]. Other stores run one change at a time, so Get suffices.
func Lock(ctx context.Context, tx Tx, r *Resource, id string) (Record, error) {
	if l, ok := tx.(Locker); ok {
		return l.Lock(ctx, r, id)
	}
	return tx.Get(ctx, r, id)
}

// Serialize calls the method of a [Locker]. Other stores run one change at a time.
func Serialize(ctx context.Context, tx Tx, name string) error {
	if l, ok := tx.(Locker); ok {
		return l.Serialize(ctx, name)
	}
	return nil
}
