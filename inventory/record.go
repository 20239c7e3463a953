package inventory

import (
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Record is a record of a resource: a *[Device], *[Interface], *[Location], *[VLAN],
// *[Link], *[Event], *[Metric], *[AuditLog] or *[User], or one of what an inventory keeps for
// itself, *[IdempotencyRecord] or *[Secret]. A nil one is no record.
type Record interface {
	// Meta is what every record has.
	Meta() *Base
}

// Base is what every record has. It is the inventory's: what a client sends for these
// fields does not become part of a record.
type Base struct {
	ID        string    `json:"id" field:"readonly,format=uuid"`   // a UUID of version 7, in lower case
	CreatedAt time.Time `json:"created_at" field:"readonly,index"` // in UTC, to the microsecond
	UpdatedAt time.Time `json:"updated_at" field:"readonly"`       // in UTC, to the microsecond
	Version   int64     `json:"version" field:"readonly"`          // 1, and one more with each change
}

// Meta is the base itself.
func (b *Base) Meta() *Base { return b }

// ValidID reports whether a text has the form of an id: a UUID of 36 characters.
func ValidID(id string) bool {
	return len(id) == 36 && uuid.Validate(id) == nil
}

// Clone is a copy that shares nothing with the record.
func Clone[R Record](rec R) R {
	from := reflect.ValueOf(rec).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	separate(to.Elem())
	return to.Interface().(R)
}

// separate gives a struct parts of its own in place of those it shares.
func separate(v reflect.Value) {
	for _, field := range v.Fields() {
		switch {
		case field.Kind() == reflect.Pointer && !field.IsNil():
			part := reflect.New(field.Type().Elem())
			part.Elem().Set(field.Elem())
			field.Set(part)
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf(slices.Clone(field.Interface().([]string))))
		case field.Type() == reflect.TypeFor[Changes]():
			field.Set(reflect.ValueOf(field.Interface().(Changes).clone()))
		}
	}
}
