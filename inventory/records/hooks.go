package records

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// The hooks of a record are methods of its type. [NewSchema] refuses a type with a method whose
// name is nearly that of a hook, or whose signature differs.

// Initializer sets defaults that depend on other fields. It is called for new and changed
// records, before they are checked, with the fields of Base set.
type Initializer interface{ Initialize() }

// Normalizer converts a record to its stored form. It is called before and after the fields
// are checked, and may be called with invalid values, which it leaves unchanged.
type Normalizer interface{ Normalize() }

// Validator returns what is wrong with a record beyond its single fields.
type Validator interface{ Validate() []FieldError }

// Patcher adapts a record to a patch that was applied to it, before it is checked: it may clear
// a field that follows from one in the patch.
type Patcher interface{ Patched(p Patch) }

// Completer reports whether a new record is complete without the fields marked oncreate.
type Completer interface{ Complete() bool }

// Namesake reports whether other records may have the natural key of a record, and only Definition.Apart tells them
// apart. Without it all may that have such fields.
type Namesake interface{ Shares() bool }

// hooks are the methods of hooks.
var hooks = map[string]reflect.Type{
	"Initialize": reflect.TypeFor[Initializer](), "Normalize": reflect.TypeFor[Normalizer](), "Validate": reflect.TypeFor[Validator](),
	"Declare": reflect.TypeFor[Declarer](), "ValidateIn": reflect.TypeFor[TxValidator](),
	"Accompany": reflect.TypeFor[Accompanied](), "Vacate": reflect.TypeFor[Occupant](),
	"Patched": reflect.TypeFor[Patcher](), "Complete": reflect.TypeFor[Completer](), "Shares": reflect.TypeFor[Namesake](),
}

// checkHooks checks the methods of a record type.
func checkHooks(t reflect.Type) error {
	names := slices.Sorted(maps.Keys(hooks))
	for method := range t.Methods() {
		if hook := hooks[method.Name]; hook != nil {
			if !t.Implements(hook) {
				return fmt.Errorf("the method %s of %v has another signature than the hook %v", method.Name, t, hook)
			}
			continue
		}
		if near := suggest.Closest(method.Name, names, 2); near != "" {
			return fmt.Errorf("the method %s of %v is nearly the hook %s: give it this name, or another one", method.Name, t, near)
		}
	}
	return nil
}

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
