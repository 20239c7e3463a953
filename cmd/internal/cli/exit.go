package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// The exit codes of all programs.
const (
	ExitOK      = 0 // success, or stopped by a signal
	ExitFailure = 1 // the error is on standard error
	ExitUsage   = 2 // invalid arguments or settings
)

// UsageError reports wrong usage of a program. Its exit code is [ExitUsage].
type UsageError struct {
	// Err says what was wrong and what is valid. Required.
	Err error
}

// Usagef returns a [*UsageError] with a message formatted by [fmt.Errorf].
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// Error returns the message of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// ExitCode returns [ExitUsage].
func (e *UsageError) ExitCode() int { return ExitUsage }

// exitCode returns the code for the result of a program.
func exitCode(ctx context.Context, err error) int {
	if err == nil || ctx.Err() != nil && onlyCanceled(err) {
		return ExitOK
	}
	coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err)
	if !ok {
		return ExitFailure
	}
	// Codes that the system cannot represent count as failure.
	if code := coded.ExitCode(); code > 0 && code <= 255 {
		return code
	}
	return ExitFailure
}

// onlyCanceled reports whether err is only context.Canceled. All joined errors must be, so that a
// failed write during shutdown is reported.
func onlyCanceled(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return onlyCanceled(e.Unwrap())
	case interface{ Unwrap() []error }:
		other := func(err error) bool { return !onlyCanceled(err) }
		return len(e.Unwrap()) > 0 && !slices.ContainsFunc(e.Unwrap(), other)
	}
	return err == context.Canceled
}
