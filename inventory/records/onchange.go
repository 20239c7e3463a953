package records

import (
	"context"
	"fmt"
)

// ChangeFunc is called in the transaction of a change: before is nil for a new record, after for a deleted one.
type ChangeFunc = func(ctx context.Context, tx Tx, before, after Record) error

// OnChange returns the part of a schema that calls f with each change of a record of a resource, in its transaction and
// before it is stored. f may change after, which is checked then. The deletion of another record may delete the
// record, or clear a reference of it; then changes of after have no effect. An [*Error] refuses the change. f may run
// more than once, and is not called for edits without an effect.
func OnChange(resource string, f ChangeFunc) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil || f == nil {
			return fmt.Errorf("OnChange: the resource %s is unknown, or there is no function", resource)
		}
		r.onChange = append(r.onChange, f)
		return nil
	}}
}

// AfterCommit returns the part of a schema that calls f after each transaction of an engine with the entries about
// records that it has added to the audit log, if there are any, before the call of the engine returns. The changes stand: f should note
// what is to be done, and not wait.
func AfterCommit(f func(ctx context.Context, entries []*AuditLog)) Part {
	return Part{func(s *Schema) error {
		if f == nil {
			return fmt.Errorf("AfterCommit: there is no function")
		}
		s.afterCommit = append(s.afterCommit, f)
		return nil
	}}
}

// hook calls the functions of OnChange.
func (r *Resource) hook(ctx context.Context, tx Tx, before, after Record) error {
	for _, f := range r.onChange {
		if err := f(ctx, tx, before, after); err != nil {
			return err
		}
	}
	return nil
}
