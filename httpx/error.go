package httpx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// StatusClientClosedRequest is what a request is answered with that its client gave
// up. Nobody is there to read it; access logs would otherwise show a 200 or a 500.
const StatusClientClosedRequest = 499

// Error is an answer that is not the one that was hoped for: what a handler returns
// and [WriteError] renders.
type Error struct {
	Status  int          // 400 to 599
	Message string       // shown to the client
	Fields  []FieldError // what is wrong with single fields, if that is known
	Items   []ItemError  // what is wrong with single items, of a request that has several
	Header  http.Header  // to be set on the answer, such as Allow; may be nil
	Err     error        // the cause: for logs, never shown; may be nil
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	// Field is the way to it, such as "author.firstname" or "authors[2].born"; the
	// name of a query parameter; or "body" for all of a body.
	Field string `json:"field"`
	// Reason says what would be right. It is shown to the client.
	Reason string `json:"reason"`
}

// ItemError says what is wrong with one item of a request that has several.
type ItemError struct {
	Index   int          `json:"index"` // from 0, in the order of the request
	ID      string       `json:"id,omitempty"`
	Message string       `json:"message"`
	Errors  []FieldError `json:"errors,omitempty"`
}

// Errorf is an [Error] with a status and a message made by [fmt.Errorf]. What is
// wrapped with %w is the cause, but its text is part of the message, and shown.
func Errorf(status int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Status: status, Message: err.Error(), Err: errors.Unwrap(err)}
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

// invalidField is a 400 for one field.
func invalidField(field, reason string) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Message: field + ": " + reason,
		Fields:  []FieldError{{Field: field, Reason: reason}},
	}
}

// asError finds the answer in an error. What is not meant for clients becomes a
// bare 500: its text may hold anything.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit)
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Status: StatusClientClosedRequest, Message: "Client Closed Request", Err: err}
	}
	return &Error{Status: http.StatusInternalServerError, Message: "Internal Server Error", Err: err}
}

func tooLarge(limit int64) *Error {
	return Errorf(http.StatusRequestEntityTooLarge, "Request body too large: at most %d bytes are taken", limit)
}
