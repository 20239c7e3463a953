package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Program is the body of a main function. It returns at the end or soon after ctx has ended; the
// package comment explains the exit codes of errors. It uses env instead of package os and must not
// call [os.Exit].
type Program func(ctx context.Context, env Env) error

// Main runs the program and exits with its code. The first SIGINT or SIGTERM ends the program's
// context, with a cause that names the signal and wraps [context.Canceled]. The second exits at once
// with 128 plus the number of the signal.
func Main(name string, run Program) {
	os.Exit(Run(signalContext(), name, run, Env{
		Args: os.Args[1:], Environ: Environ(os.Environ()), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}

// Run runs the program and returns its exit code, after printing "name: error" to env.Stderr for an
// error. An error with an empty message is not printed. [context.Canceled] is success if ctx has ended
// and failure otherwise.
func Run(ctx context.Context, name string, run Program, env Env) int {
	err := run(ctx, env)
	code := exitCode(ctx, err)
	if code != ExitOK && err.Error() != "" {
		_, _ = fmt.Fprintf(env.Stderr, "%s: %v\n", name, err)
	}
	return code
}

// signalContext ends with the first signal. Its goroutine waits for a second one until the process
// ends.
func signalContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(fmt.Errorf("%w by signal: %v", context.Canceled, <-signals))
		code := ExitFailure
		if number, ok := (<-signals).(syscall.Signal); ok {
			code = 128 + int(number) // as a shell reports a program that a signal killed
		}
		os.Exit(code)
	}()
	return ctx
}
