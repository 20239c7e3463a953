package httpapi

import (
	"errors"
	"net/http"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/httpx"
)

// handler is a function whose errors are those of the catalog or of httpx.
func handler(f httpx.HandlerFunc) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return translate(f(w, r))
	})
}

// translate gives the catalog's errors their status. Others are left as they are.
func translate(err error) error {
	e, ok := errors.AsType[*bookcatalog.Error](err)
	if !ok {
		return err
	}
	fields := make([]httpx.FieldError, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = httpx.FieldError(f)
	}
	return &httpx.Error{Status: status(e.Kind), Message: e.Message, Fields: fields, Err: e.Err}
}

// status is the table from kinds to statuses.
func status(kind bookcatalog.ErrorKind) int {
	switch kind {
	case bookcatalog.Invalid:
		return http.StatusBadRequest
	case bookcatalog.NotFound:
		return http.StatusNotFound
	case bookcatalog.Conflict, bookcatalog.Stale:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}
