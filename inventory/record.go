package inventory

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Record is a record of a resource: a *[Device], *[Interface], *[Location], *[VLAN],
// *[Link], *[Event], *[Metric], *[AuditLog] or *[User], or an internal *[IdempotencyRecord]
// or *[Secret]. A nil pointer is not a record.
type Record interface {
	// Meta returns the fields that every record has.
	Meta() *Base
}

// Base has the fields of every record. The inventory sets them; values from clients are
// ignored.
type Base struct {
	ID        string    `json:"id" field:"readonly,format=uuid"`   // a UUID of version 7, in lower case
	CreatedAt time.Time `json:"created_at" field:"readonly,index"` // in UTC, to the microsecond
	UpdatedAt time.Time `json:"updated_at" field:"readonly"`       // in UTC, to the microsecond
	Version   int64     `json:"version" field:"readonly"`          // 1, then one more with each change
}

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
