package bookcatalog

import (
	"errors"
	"strings"
)

// ErrorKind classifies errors. Transports map it to their status codes.
type ErrorKind uint8

const (
	// Invalid reports an invalid book or query.
	Invalid ErrorKind = iota + 1
	// NotFound reports a book that does not exist.
	NotFound
	// Conflict reports a duplicate of a unique field.
	Conflict
	// Stale reports a change to a version that is not the current one.
	Stale
	// Full reports a store without space for the change. Reads still work.
	Full
)

// Error is an error of a catalog or store that a client can act on. Errors of other types are
// failures of the store.
type Error struct {
	Kind    ErrorKind
	Message string       // safe to show
	Fields  []FieldError // the invalid fields, if known
	Err     error        // the cause, for logs; may be nil
}

// FieldError is an error of one field.
type FieldError struct {
	Field  string // as in JSON, such as "author.lastname" or "authors[1].born"
	Reason string // says what is valid
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

// Errors that a [Store] returns, for errors.Is.
var (
	ErrNotFound error = &Error{Kind: NotFound, Message: "Book not found"}                                  // no such id
	ErrStale    error = &Error{Kind: Stale, Message: "The book was changed by another request: reload it"} // not the current version
)

// Duplicate returns the error of a [Store] for a book with the id or isbn of another book.
func Duplicate(field, value string) *Error {
	message := "A book with the " + strings.ToUpper(field) + " " + value + " already exists"
	return &Error{Kind: Conflict, Message: message, Fields: []FieldError{{field, "belongs to another book"}}}
}

// KindOf returns the kind of the first *Error in the tree of err, or 0.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}
