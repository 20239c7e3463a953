package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Env holds the arguments, environment and streams of a program.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Environ are the environment variables. A nil map is an empty environment.
	Environ map[string]string

	// Stdin, Stdout and Stderr are set by Main. A test must set those that the program uses; Run
	// writes to Stderr.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Instead, if not nil, is called instead of the command that Execute selects. Tests read its flags.
	Instead func(c *cobra.Command)
}

// Input returns Stdin as a reader that fails with the cause of ctx as soon as ctx ends, because a read from a terminal
// cannot be interrupted.
func (e Env) Input(ctx context.Context) io.Reader {
	out, in := io.Pipe()
	go func() { // may stay blocked until the process ends
		_, err := io.Copy(in, e.Stdin)
		_ = in.CloseWithError(err) // never fails
	}()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	return out
}

// ReadInput reads at most limit bytes of Input.
func (e Env) ReadInput(ctx context.Context, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return io.ReadAll(io.LimitReader(e.Input(ctx), limit))
}

// Environ converts lines of KEY=value to a map. The last line of a key wins.
func Environ(lines []string) map[string]string {
	m := make(map[string]string, len(lines))
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		m[key] = value
	}
	return m
}
