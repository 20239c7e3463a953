package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// coded is an error that brings its exit code along.
type coded struct {
	code int
	text string
}

func (e coded) Error() string { return e.text }
func (e coded) ExitCode() int { return e.code }

// nothing is an error that wraps an empty list.
type nothing struct{}

func (nothing) Error() string   { return "nothing" }
func (nothing) Unwrap() []error { return nil }

func TestRun(t *testing.T) {
	t.Parallel()
	live := context.Background()
	ended, cancel := context.WithCancel(live)
	cancel()

	for _, tc := range []struct {
		why    string
		ctx    context.Context
		err    error
		code   int
		stderr string
	}{
		{"no error is success", live, nil, 0, ""},
		{"an error is printed and fails", live, errors.New("no disk"), 1, "prog: no disk\n"},
		{"wrong usage has its own code", live, cli.Usagef("-n is %d: use 1 to 9", 0), 2, "prog: -n is 0: use 1 to 9\n"},
		{"wrong usage keeps its code when wrapped", live, fmt.Errorf("settings: %w", cli.Usagef("no PORT")), 2, "prog: settings: no PORT\n"},
		{"a usage error may be made by hand", live, &cli.UsageError{Err: errors.New("too many")}, 2, "prog: too many\n"},
		{"an error may bring its code", live, coded{7, "partial"}, 7, "prog: partial\n"},
		{"a code is found through wrapping", live, fmt.Errorf("check: %w", coded{3, "denied"}), 3, "prog: check: denied\n"},
		{"an error without a text is a code and no line", live, coded{4, ""}, 4, ""},
		{"an error never exits as success", live, coded{0, "odd"}, 1, "prog: odd\n"},
		{"a child killed by a signal has no code to pass on", live, coded{-1, "killed"}, 1, "prog: killed\n"},
		{"256 would wrap around to success", live, coded{256, "large"}, 1, "prog: large\n"},
		{"255 is the largest code", live, coded{255, "last"}, 255, "prog: last\n"},
		{"stopped, it ended", ended, context.Canceled, 0, ""},
		{"stopped, it says what it was doing", ended, fmt.Errorf("watch: %w", context.Canceled), 0, ""},
		{"stopped, all of its parts ended", ended, errors.Join(context.Canceled, fmt.Errorf("b: %w", context.Canceled)), 0, ""},
		{"a failure is not hidden by the end", ended, errors.Join(context.Canceled, errors.New("flush failed")), 1, "prog: context canceled\nflush failed\n"},
		{"a failure after the end is a failure", ended, errors.New("flush failed"), 1, "prog: flush failed\n"},
		{"a list of nothing is not the end", ended, nothing{}, 1, "prog: nothing\n"},
		{"a deadline is a failure even after the end", ended, context.DeadlineExceeded, 1, "prog: context deadline exceeded\n"},
		{"canceled by nobody is a failure", live, context.Canceled, 1, "prog: context canceled\n"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			program := func(context.Context, cli.Env) error { return tc.err }
			code := cli.Run(tc.ctx, "prog", program, cli.Env{Stderr: &stderr})
			if code != tc.code || stderr.String() != tc.stderr {
				t.Errorf("Run = %d, stderr %q; want %d, %q, because %s",
					code, stderr.String(), tc.code, tc.stderr, tc.why)
			}
		})
	}
}

// TestRunHandsOver checks that the program sees the context and the Env it was given.
func TestRunHandsOver(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "value")
	var stdout bytes.Buffer
	program := func(ctx context.Context, env cli.Env) error {
		in, err := io.ReadAll(env.Stdin)
		fmt.Fprint(env.Stdout, ctx.Value(key{}), env.Args, env.Environ["HOME"], string(in))
		return err
	}
	code := cli.Run(ctx, "prog", program, cli.Env{
		Args:    []string{"a", "b"},
		Environ: map[string]string{"HOME": "/nowhere"},
		Stdin:   strings.NewReader("input"),
		Stdout:  &stdout,
	})
	if want := "value[a b]/nowhereinput"; code != 0 || stdout.String() != want {
		t.Errorf("Run = %d, stdout %q; want 0, %q", code, stdout.String(), want)
	}
}

func TestUsageErrorUnwraps(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := cli.Usagef("setting: %w", cause)
	usage, ok := errors.AsType[*cli.UsageError](err)
	if !ok || !errors.Is(err, cause) || usage.ExitCode() != cli.ExitUsage {
		t.Errorf("Usagef made %#v; want a *UsageError with code 2 that wraps the cause", err)
	}
}
