package records

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Record is a record of a resource: a pointer to a struct that embeds [Base]. A nil pointer is
// not a record.
type Record interface {
	// Meta returns the fields that every record has.
	Meta() *Base
}

// Base has the fields of every record. The engine sets them, except Extra; values from clients
// are ignored.
type Base struct {
	ID        string    `json:"id" field:"readonly,format=uuid"`   // a UUID of version 7, in lower case
	CreatedAt time.Time `json:"created_at" field:"readonly,index"` // in UTC, to the microsecond
	UpdatedAt time.Time `json:"updated_at" field:"readonly,index"` // in UTC, to the microsecond
	Version   int64     `json:"version" field:"readonly"`          // 1, then one more with each change
	// Extra has the values of the fields that are not in the struct (see [Extend]), by name and
	// of the Go type of their kind. A missing one is null.
	Extra Values `json:"-"`
}

// Values are values of fields by name.
type Values map[string]any

// Meta returns b.
func (b *Base) Meta() *Base { return b }

// ValidID reports whether a string has the form of an id: a UUID of 36 characters.
func ValidID(id string) bool {
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Clone returns a deep copy of a record.
func Clone[R Record](rec R) R {
	from := reflect.ValueOf(rec).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	if extra := rec.Meta().Extra; extra != nil {
		base := to.Interface().(R).Meta()
		base.Extra = maps.Clone(extra)
		for name, value := range extra {
			if list, ok := value.([]string); ok {
				base.Extra[name] = slices.Clone(list)
			}
		}
	}
	for _, field := range to.Elem().Fields() {
		switch {
		case field.Kind() == reflect.Pointer && !field.IsNil():
			value := reflect.New(field.Type().Elem())
			value.Elem().Set(field.Elem())
			field.Set(value)
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf(slices.Clone(field.Interface().([]string))))
		case field.Type() == reflect.TypeFor[Changes]():
			field.Set(reflect.ValueOf(field.Interface().(Changes).clone()))
		}
	}
	return to.Interface().(R)
}
