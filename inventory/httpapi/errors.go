package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// translate gives the errors of the inventory and of auth their status. Others are left
// as they are: those of httpx know theirs, and the rest is a 500.
func translate(err error) error {
	if _, ok := errors.AsType[*httpx.Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*inventory.Error](err); ok {
		return ofInventory(e)
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return ofAuth(e)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return later(&httpx.Error{Status: http.StatusServiceUnavailable, Message: "The inventory did not answer in time: try again later", Err: err})
	}
	return err
}

// statusOf is the table from the kinds of the inventory to statuses.
func statusOf(kind inventory.ErrorKind) int {
	switch kind {
	case inventory.Invalid:
		return http.StatusBadRequest
	case inventory.NotFound:
		return http.StatusNotFound
	case inventory.Conflict:
		return http.StatusConflict
	case inventory.Stale:
		return http.StatusPreconditionFailed
	case inventory.Forbidden:
		return http.StatusForbidden
	case inventory.Unauthenticated:
		return http.StatusUnauthorized
	case inventory.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// statusOfAuth is the table from the kinds of auth to statuses.
func statusOfAuth(kind auth.Kind) int {
	switch {
	case kind == auth.WeakPassword:
		return http.StatusBadRequest
	case kind == auth.ResetInvalid:
		return http.StatusNotFound
	case kind == auth.Forbidden:
		return http.StatusForbidden
	case kind == auth.Busy:
		return http.StatusServiceUnavailable
	case kind.Unauthorized():
		return http.StatusUnauthorized
	}
	return http.StatusInternalServerError
}

func ofInventory(e *inventory.Error) *httpx.Error {
	answer := &httpx.Error{Status: statusOf(e.Kind), Message: e.Message, Fields: fieldErrors(e.Fields), Err: e.Err}
	for _, item := range e.Items {
		answer.Items = append(answer.Items, httpx.ItemError{
			Index: item.Index, ID: show(item.ID), Message: item.Err.Message, Errors: fieldErrors(item.Err.Fields),
		})
	}
	return goOn(answer)
}

func fieldErrors(fields []inventory.FieldError) []httpx.FieldError {
	all := make([]httpx.FieldError, len(fields))
	for i, f := range fields {
		all[i] = httpx.FieldError(f)
	}
	return all
}

func ofAuth(e *auth.Error) *httpx.Error {
	answer := &httpx.Error{Status: statusOfAuth(e.Kind), Message: e.Message}
	if e.Reason != "" {
		answer.Err = errors.New(e.Reason) // for the log
	}
	return goOn(answer)
}

// goOn adds what a client needs to go on: how to say who it is (RFC 9110, 11.6.1), or
// when to try again.
func goOn(e *httpx.Error) *httpx.Error {
	switch e.Status {
	case http.StatusUnauthorized:
		e.Header = http.Header{"Www-Authenticate": {"Bearer"}}
	case http.StatusServiceUnavailable:
		return later(e)
	}
	return e
}

// later adds when to try again, in seconds.
func later(e *httpx.Error) *httpx.Error {
	e.Header = http.Header{"Retry-After": {"1"}}
	return e
}

// badField is a 400 for one field or parameter.
func badField(field, reason string) *httpx.Error {
	return &httpx.Error{
		Status: http.StatusBadRequest, Message: field + " " + reason,
		Fields: []httpx.FieldError{{Field: field, Reason: reason}},
	}
}
