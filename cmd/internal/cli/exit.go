package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
)

// The exit codes that every program uses in the same way.
const (
	ExitOK      = 0 // done, or ended by a signal in good order
	ExitFailure = 1 // the error is on the standard error stream
	ExitUsage   = 2 // the arguments or settings make no sense
)

// UsageError says that a program was called in a wrong way. It exits with
// [ExitUsage].
type UsageError struct {
	// Err says what was wrong and what would be right. Required.
	Err error

	printed bool // the user has seen it already
}

// Usagef is a [*UsageError] with a text made by [fmt.Errorf], which may wrap
// errors with %w.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// Error is the text of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *UsageError) Unwrap() error { return e.Err }

// ExitCode is [ExitUsage].
func (e *UsageError) ExitCode() int { return ExitUsage }

// exitCode is the code for what a program returned.
func exitCode(ctx context.Context, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) || ctx.Err() != nil && onlyCanceled(err) {
		return ExitOK
	}
	coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err)
	if !ok {
		return ExitFailure
	}
	// What the system cannot pass on, or would pass on as success, is a failure.
	if code := coded.ExitCode(); code > 0 && code <= 255 {
		return code
	}
	return ExitFailure
}

// onlyCanceled reports whether err says nothing but that the context ended.
// Of errors that were joined each must say so: a write that failed during the
// shutdown must not hide behind the cancellation next to it.
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

// report is the line for the user, empty if there is nothing to say.
func report(name string, err error) string {
	if usage, ok := errors.AsType[*UsageError](err); ok && usage.printed {
		return ""
	}
	if err.Error() == "" {
		return ""
	}
	return name + ": " + err.Error() + "\n"
}
