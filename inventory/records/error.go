package records

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorKind classifies an [Error]. Transports map it to their status codes.
type ErrorKind uint8

const (
	// Invalid is an invalid record, change or query.
	Invalid ErrorKind = iota + 1
	// NotFound is a record that does not exist.
	NotFound
	// Conflict is a record that conflicts with another one.
	Conflict
	// Stale is a change of a version that is not the current one: a failed precondition.
	Stale
	// Forbidden is a change that the caller may not make.
	Forbidden
	// Unauthenticated is a caller without valid credentials.
	Unauthenticated
	// Unavailable is a store that can't be reached, is busy or accepts no changes. A retry may
	// succeed.
	Unavailable
	// Full is a store without space for the change. Reads still work.
	Full
	// Unresolved is a natural key that fits no record, or several. Err is an [*UnresolvedKey].
	Unresolved
)

// Error is the error of this package and its stores. Any other error is a failure of the
// store.
type Error struct {
	Kind    ErrorKind
	Code    string       // of the table in REFERENCE.md, 2.2, such as "in_use"; empty is that of the kind
	Message string       // safe to show
	Fields  []FieldError // the invalid fields, if known
	Items   []ItemError  // the failed items of a call with several
	Holder  Record       // has the unique key or the place that the refused record can't have; nil if not known
	Err     error        // the cause, for logs; may be nil
}

// ItemError describes what is wrong with one item of several.
type ItemError struct {
	Index int    // the position of the item, from 0
	ID    string // of the record; empty for a new one
	Err   *Error
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// Absent returns the error of a [Store] for an unknown id.
func Absent(r *Resource) *Error {
	return &Error{Kind: NotFound, Message: r.Label + " not found"}
}

// Outdated returns the error of a [Store] for a version that is not the current one.
func Outdated(r *Resource) *Error {
	return &Error{Kind: Stale, Message: "The " + r.Noun() + " has changed since it was read: read it again"}
}

// Duplicate returns the error of a [Store] for a record with the unique key of another one.
func Duplicate(r *Resource, key Unique) *Error {
	e := &Error{Kind: Conflict, Code: "not_unique", Message: key.Message}
	for _, name := range key.Fields {
		if f := r.KeyField(name); f != nil && f.Hidden {
			if name = strings.TrimSuffix(name, "_key"); r.byName[name] == nil { // hostname_key is made of hostname
				continue
			}
		}
		e.Fields = append(e.Fields, FieldError{name, "not_unique", "is already used by another " + r.Noun()})
	}
	return e
}

// DuplicateID returns the error of a [Store] for a new record with the id of another one.
func DuplicateID(r *Resource) *Error {
	return Duplicate(r, Unique{Fields: []string{"id"}, Message: "Id already exists"})
}

// Dangling returns the error of a [Store] for a record that refers to one that does not
// exist.
func Dangling(r *Resource, f *Field) *Error {
	return r.refuse(f.Name, NoRecord(f.Ref.To, ""))
}

// AppendItemError appends the error of one item if it is an [*Error]. It returns any other
// error, which ends the call.
func AppendItemError(items []ItemError, index int, id string, err error) ([]ItemError, error) {
	if err == nil {
		return items, nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return items, err
	}
	return append(items, ItemError{index, id, e}), nil
}

// maxMessages is the maximum number of items in a message. Error.Items has all of them.
const maxMessages = 10

// JoinItemErrors returns the error of a call for several records of a resource, nil without
// failed items. Its kind is that of the first failed item, which is the whole error if the
// call has only one item.
func JoinItemErrors(r *Resource, failed []ItemError, items int) error {
	switch {
	case len(failed) == 0:
		return nil
	case items == 1:
		return failed[0].Err
	}
	var messages []string
	for _, item := range failed[:min(len(failed), maxMessages)] {
		messages = append(messages, strings.TrimSpace(fmt.Sprintf("item %d %s", item.Index, item.ID))+": "+item.Err.Message)
	}
	if more := len(failed) - len(messages); more > 0 {
		messages = append(messages, fmt.Sprintf("and %d more", more))
	}
	return &Error{
		Kind: failed[0].Err.Kind, Items: failed,
		Message: fmt.Sprintf("Nothing was changed: %d of %d items of %s failed: %s", len(failed), items, r.Name, strings.Join(messages, "; ")),
	}
}

// each calls f with the records of a call, and returns the error for those that it refuses.
func (r *Resource) each(recs []Record, f func(i int, rec Record) error) (err error) {
	var wrong []ItemError
	for i, rec := range recs {
		if wrong, err = AppendItemError(wrong, i, "", f(i, rec)); err != nil {
			return err
		}
	}
	return JoinItemErrors(r, wrong, len(recs))
}

// PermissionDenied returns the error for a caller who may not make a change.
func PermissionDenied() *Error {
	return &Error{Kind: Forbidden, Message: "Forbidden: You do not have permission to perform this action"}
}

// CheckOwnerChange refuses a change by the owner of a record to fields that only an admin
// may set. The error is [PermissionDenied] with these fields.
func (r *Resource) CheckOwnerChange(before, after Record) error {
	var fields []FieldError
	for _, f := range r.fields {
		if f.AdminOnly && !f.same(f.valueOrNil(before), f.valueOrNil(after)) {
			fields = append(fields, FieldError{f.Name, "forbidden", "may only be changed by an admin"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	e := PermissionDenied()
	e.Fields = fields
	return e
}
