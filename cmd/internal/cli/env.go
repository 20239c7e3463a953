package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// Env is what a program uses of its process.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Commands are the names of the program's commands, for completion.
	Commands []string
	// Environ are the environment variables. A nil map is an empty environment.
	Environ map[string]string

	// Stdin, Stdout and Stderr are set by Main. A test must set those that the program uses; Run
	// writes to Stderr.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Parse reads Args with the flag set. It returns nil, [flag.ErrHelp] after printing the usage or the
// completions of a shell to Stdout, or a [*UsageError] after printing the error and the usage to Stderr. The program should
// return the error unchanged.
func (e Env) Parse(flags *flag.FlagSet) error {
	if len(e.Args) == 2 && isFlag(e.Args[0], "completion") {
		if err := completion(e.Stdout, e.Args[1], flags, e.Commands); err != nil {
			return err
		}
		return flag.ErrHelp // which ends the program with success
	}
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
		_, _ = e.Stderr.Write(withSuggestion(printed.Bytes(), err, flags))
		return &UsageError{Err: err, printed: true}
	}
}

// withSuggestion adds the flag that was probably meant to the error about an unknown one.
func withSuggestion(printed []byte, err error, flags *flag.FlagSet) []byte {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	first, rest, _ := bytes.Cut(printed, []byte("\n"))
	if !unknown || string(first) != err.Error() {
		return printed
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	meant := suggest.Closest(name, names, max(1, len(name)/3))
	if meant == "" {
		return printed
	}
	return slices.Concat(first, []byte(": did you mean -"+meant+"?\n"), rest)
}

// ReadInput reads at most limit bytes of Stdin. It returns the cause of ctx as soon as ctx ends,
// because a read from a terminal cannot be interrupted.
func (e Env) ReadInput(ctx context.Context, limit int64) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() { // may stay blocked until the process ends
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

// processEnv returns the Env of this process.
func processEnv() Env {
	return Env{
		Args:    os.Args[1:],
		Environ: environ(os.Environ()),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
	}
}

// environ converts lines of KEY=value to a map. The last line of a key wins.
func environ(lines []string) map[string]string {
	m := make(map[string]string, len(lines))
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		m[key] = value
	}
	return m
}
