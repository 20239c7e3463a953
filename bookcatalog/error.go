package bookcatalog

import "errors"

// ErrorKind says what kind of thing went wrong. Transports map it to their status codes.
type ErrorKind uint8

const (
	// Invalid is a book or a query that can't be right.
	Invalid ErrorKind = iota + 1
	// NotFound is a book that is not there.
	NotFound
	// Conflict is a book that can't be there next to another one.
	Conflict
	// Stale is a change of a version that is no longer the latest.
	Stale
)

// Error is what a catalog and its stores return. An error of any other type is a
// failure of the store.
type Error struct {
	Kind    ErrorKind
	Message string       // safe to show
	Fields  []FieldError // what is wrong, field by field, if it is known
	Err     error        // the cause, for logs; may be nil
}

// FieldError is what is wrong with one field.
type FieldError struct {
	Field  string // as in JSON, such as "author.lastname" or "authors[1].born"
	Reason string // what would be right
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

// ErrNotFound is what a [Store] returns for an id that it does not have.
var ErrNotFound = &Error{Kind: NotFound, Message: "Book not found"}

// ErrStale is what a [Store] returns when the version to change is not the one it has.
var ErrStale = &Error{Kind: Stale, Message: "The book has been changed by somebody else"}

// DuplicateISBN is what a [Store] returns for a book whose ISBN13 another one has.
func DuplicateISBN(isbn13 string) *Error {
	return &Error{
		Kind: Conflict, Message: "A book with the ISBN " + isbn13 + " already exists",
		Fields: []FieldError{{"isbn", "belongs to another book"}},
	}
}

// DuplicateID is what a [Store] returns for a new book whose id another one has.
func DuplicateID(id string) *Error {
	return &Error{
		Kind: Conflict, Message: "A book with the id " + id + " already exists",
		Fields: []FieldError{{"id", "belongs to another book"}},
	}
}

// KindOf is the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}
