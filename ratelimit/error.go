package ratelimit

import (
	"errors"
	"fmt"
)

// ErrorKind says whose fault an error of the engine is. Transports map it to
// their status codes.
type ErrorKind uint8

const (
	// Invalid is a request that can't be decided, whatever the configuration.
	Invalid ErrorKind = iota + 1
	// NotReady is an engine that has not been given rules yet.
	NotReady
	// StoreFailure is a counter store that did not answer, or not in time.
	StoreFailure
)

// Error is what Decide returns. Denial is no error: it is a Decision.
type Error struct {
	Kind    ErrorKind
	Message string // safe to show to a caller
	Err     error  // the cause, for logs; may be nil
}

// Error is the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Message {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Sentinels for errors.Is, each wrapped in an *Error. The messages are those of the
// reference service.
var (
	ErrEmptyDomain   = errors.New("rate limit domain must not be empty")
	ErrNoDescriptors = errors.New("rate limit descriptor list must not be empty")
	ErrNoRules       = errors.New("no rate limit configuration loaded")
)

// sentinelError returns an *Error of its own for each call: callers may modify it.
func sentinelError(kind ErrorKind, sentinel error) error {
	return &Error{Kind: kind, Message: sentinel.Error(), Err: sentinel}
}

// ErrOverloaded is wrapped by the errors of a Store that refused a call because this
// process has too many calls to it under way. It says nothing about the store's health.
var ErrOverloaded = errors.New("local overload")

// KindOf is the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

func overrideError(i int, o *Override) error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(
		"descriptors[%d].limit.unit: invalid rate limit unit %d: use %s", i, o.Unit, UnitNames)}
}

func storeError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == Invalid {
		return e
	}
	return &Error{Kind: StoreFailure, Message: "rate limit counter store failed", Err: err}
}
