package inventory

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorKind says what kind of thing went wrong. Transports map it to their status codes.
type ErrorKind uint8

const (
	// Invalid is a record, a change or a query that can't be right.
	Invalid ErrorKind = iota + 1
	// NotFound is a record that is not there.
	NotFound
	// Conflict is a record that can't be there next to another one.
	Conflict
	// Stale is a change of a version that is no longer the latest: a precondition has failed.
	Stale
	// Forbidden is what the caller may not do, whoever that is.
	Forbidden
	// Unauthenticated is a caller who does not say who they are, or can't prove it.
	Unauthenticated
	// Unavailable is a store that can't be reached just now. Trying again later may help.
	Unavailable
)

// Error is what this package and its stores return. An error of any other type is a
// failure of the store.
type Error struct {
	Kind    ErrorKind
	Message string       // safe to show
	Fields  []FieldError // what is wrong, field by field, if it is known
	Items   []ItemError  // what is wrong, item by item, if the call had several
	Err     error        // the cause, for logs; may be nil
}

// FieldError is what is wrong with one field, or with one parameter of a query.
type FieldError struct {
	Field  string // as in JSON, such as "location_id" or "tags[2]"
	Reason string // what would be right
}

// ItemError is what is wrong with one item of several.
type ItemError struct {
	Index int    // in the order in which they were given, from 0
	ID    string // of the record, empty for one that has none yet
	Err   *Error
}

// Error is the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// Absent is what a [Store] returns for an id that it does not have.
func Absent(r *Resource) *Error {
	return &Error{Kind: NotFound, Message: r.label + " not found"}
}

// Outdated is what a [Store] returns when the version to change is not the one it has.
func Outdated(r *Resource) *Error {
	return &Error{Kind: Stale, Message: "The " + r.noun() + " has been changed by somebody else: read it again"}
}

// Duplicate is what a [Store] returns for a record whose fields of a unique key are those
// of another one. The message is the one of the specification where it has one, such as
// "Email already exists".
func Duplicate(r *Resource, key Unique) *Error {
	e := &Error{Kind: Conflict, Message: key.Message}
	for _, name := range key.Fields {
		e.Fields = append(e.Fields, FieldError{name, "belongs to another " + r.noun()})
	}
	return e
}

// DuplicateID is what a [Store] returns for a new record whose id another one has.
func DuplicateID(r *Resource) *Error {
	return Duplicate(r, Unique{Fields: []string{"id"}, Message: "Id already exists"})
}

// Dangling is what a [Store] returns for a record that refers to one that is not there.
func Dangling(r *Resource, f *Field) *Error {
	return r.invalid([]FieldError{{f.Name, "names no record of " + f.Ref.To + " that is there"}})
}

// invalid is the error for these fields, nil if there are none.
func (r *Resource) invalid(fields []FieldError) *Error {
	if len(fields) == 0 {
		return nil
	}
	e := &Error{Kind: Invalid, Fields: fields}
	messages := make([]string, len(fields))
	for i, f := range fields {
		messages[i] = f.Field + " " + f.Reason
	}
	e.Message = "Invalid " + r.noun() + ": " + strings.Join(messages, "; ")
	if said := said(fields); said != "" {
		e.Message = said
	}
	return e
}

// said is the message that the specification has for a single problem.
func said(fields []FieldError) string {
	if len(fields) != 1 {
		return ""
	}
	switch fields[0].Reason {
	case notAnAddress:
		return "Invalid IP address format"
	case sameInterface:
		return "Cannot link an interface to itself"
	}
	return ""
}

// JoinItemErrors is the error of a call for records of a resource with so many items, of which
// these failed; nil if none did. Its kind is that of the first, which is the whole error if
// the call had one item only. [Inventory] returns such errors, and so may what stands
// before it.
func JoinItemErrors(r *Resource, items []ItemError, of int) error {
	switch {
	case len(items) == 0:
		return nil
	case of == 1:
		return items[0].Err
	}
	var messages strings.Builder
	for i, item := range items {
		if i == maxMessages {
			fmt.Fprintf(&messages, "; and %d more", len(items)-i)
			break
		}
		if i > 0 {
			messages.WriteString("; ")
		}
		messages.WriteString(strings.TrimSpace(fmt.Sprintf("item %d %s", item.Index, item.ID)) + ": " + item.Err.Message)
	}
	return &Error{
		Kind: items[0].Err.Kind, Items: items,
		Message: fmt.Sprintf("Nothing was changed, as %d of %d items of %s failed: %s", len(items), of, r.name, messages.String()),
	}
}

// maxMessages is how many items a message tells of. All of them are in Items.
const maxMessages = 10
