package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
)

// Env is everything a program takes from the process it runs in.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Environ are the environment variables. A nil map is an empty environment.
	Environ map[string]string

	// Stdin, Stdout and Stderr are never nil in an Env from Main. In one that a
	// test makes, those that the program uses must be set; Run itself writes
	// to Stderr.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Parse reads Args with the flag set, whatever its error handling was.
//
// It returns nil, [flag.ErrHelp] after printing the usage to Stdout, or a
// [*UsageError] after printing what is wrong and the usage to Stderr; either
// error is to be returned from the program as it is.
func (e Env) Parse(flags *flag.FlagSet) error {
	var printed bytes.Buffer
	flags.Init(flags.Name(), flag.ContinueOnError)
	flags.SetOutput(&printed)
	err := flags.Parse(e.Args)
	flags.SetOutput(e.Stderr)

	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		_, _ = e.Stdout.Write(printed.Bytes())
		return err
	default:
		_, _ = e.Stderr.Write(printed.Bytes())
		return &UsageError{Err: err, printed: true}
	}
}

// ReadInput reads Stdin to its end, but no more than limit bytes. It returns what
// [io.ReadAll] does, or the cause of ctx as soon as that has ended: a terminal that
// nobody types on must not keep a program from ending when it is told to.
func (e Env) ReadInput(ctx context.Context, limit int64) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() { // ends with the process at the latest
		data, err := io.ReadAll(io.LimitReader(e.Stdin, limit))
		done <- input{data, err}
	}()
	select {
	case in := <-done:
		return in.data, in.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// processEnv is the Env of this process.
func processEnv() Env {
	return Env{
		Args:    os.Args[1:],
		Environ: environ(os.Environ()),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
	}
}

// environ turns lines of KEY=value into a map. The last line of a key wins, as
// it does for a process that is started with such a list.
func environ(lines []string) map[string]string {
	m := make(map[string]string, len(lines))
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		m[key] = value
	}
	return m
}
