package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Program is the body of a main function. It returns when it is done, and soon
// after ctx has ended. What an error means is said in the package comment.
//
// It must not call [os.Exit], and take from env what it would take from package os.
type Program func(ctx context.Context, env Env) error

// Main runs the program in this process and exits with its code; it does not
// return. The first SIGINT or SIGTERM ends the program's context, with a cause
// that names the signal and wraps [context.Canceled]; the second one exits at
// once with 128 plus the signal's number, as a shell would report it.
func Main(name string, run Program) {
	ctx := signalContext()
	os.Exit(Run(ctx, name, run, processEnv()))
}

// Run runs the program and returns its exit code, after printing the line
// "name: error" to env.Stderr where there is an error to be told.
//
// An error whose text is empty, and one that [Env.Parse] has printed, sets the
// code and prints nothing. [context.Canceled] is success if ctx has ended and
// failure if it has not.
func Run(ctx context.Context, name string, run Program, env Env) int {
	err := run(ctx, env)
	code := exitCode(ctx, err)
	if code != ExitOK {
		_, _ = io.WriteString(env.Stderr, report(name, err))
	}
	return code
}

// signalContext ends with the first signal. Its goroutine lives as long as the
// process, as the second signal may come at any time.
func signalContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(fmt.Errorf("%w by signal: %v", context.Canceled, <-signals))
		os.Exit(signalCode(<-signals))
	}()
	return ctx
}

// signalCode is what a shell reports for a program that died of the signal.
func signalCode(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return ExitFailure
}
