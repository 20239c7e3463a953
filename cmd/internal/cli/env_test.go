package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// greet is a small program with one flag.
func greet(handling flag.ErrorHandling) cli.Program {
	return func(_ context.Context, env cli.Env) error {
		flags := flag.NewFlagSet("greet", handling)
		name := flags.String("name", "you", "who is `greeted`")
		if err := env.Parse(flags); err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "hello %s %v", *name, flags.Args())
		return nil
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why            string
		args           []string
		code           int
		stdout, stderr string // how they begin
	}{
		{"flags and arguments arrive", []string{"-name", "Ada", "rest"}, 0, "hello Ada [rest]", ""},
		{"defaults hold", nil, 0, "hello you []", ""},
		{"help goes to the standard output", []string{"-help"}, 0, "Usage of greet:\n", ""},
		{"help is also -h", []string{"-h"}, 0, "Usage of greet:\n", ""},
		{"an unknown flag goes to the error stream", []string{"-nmae", "x"}, 2, "", "flag provided but not defined: -nmae: did you mean -name?\nUsage of greet:\n"},
		{"an unlike flag has no suggestion", []string{"-zzzzzz"}, 2, "", "flag provided but not defined: -zzzzzz\nUsage of greet:\n"},
		{"a missing value as well", []string{"-name"}, 2, "", "flag needs an argument: -name\nUsage of greet:\n"},
	} {
		for _, handling := range []flag.ErrorHandling{flag.ContinueOnError, flag.ExitOnError, flag.PanicOnError} {
			t.Run(fmt.Sprintf("%s/%d", tc.why, handling), func(t *testing.T) {
				t.Parallel()
				var stdout, stderr bytes.Buffer
				env := cli.Env{Args: tc.args, Stdout: &stdout, Stderr: &stderr}
				code := cli.Run(context.Background(), "greet", greet(handling), env)
				if code != tc.code {
					t.Errorf("exit code %d, want %d: %s", code, tc.code, tc.why)
				}
				begins(t, "stdout", stdout.String(), tc.stdout)
				begins(t, "stderr", stderr.String(), tc.stderr)
			})
		}
	}
}

// begins fails unless got begins with want, and is empty if want is.
func begins(t *testing.T, stream, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want it to begin with %q", stream, got, want)
	}
}

// TestParsePrintsOnce checks that an invalid flag is reported once.
func TestParsePrintsOnce(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	env := cli.Env{Args: []string{"-x"}, Stderr: &stderr}
	cli.Run(context.Background(), "greet", greet(flag.ContinueOnError), env)
	if n := strings.Count(stderr.String(), "not defined"); n != 1 {
		t.Errorf("the error was printed %d times:\n%s", n, stderr.String())
	}
}

// TestParseLeavesOutput checks that usage printed later goes to the error stream.
func TestParseLeavesOutput(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	flags := flag.NewFlagSet("greet", flag.ContinueOnError)
	if err := (cli.Env{Stderr: &stderr}).Parse(flags); err != nil {
		t.Fatal(err)
	}
	flags.Usage()
	if got := stderr.String(); got != "Usage of greet:\n" {
		t.Errorf("Usage printed %q to the error stream", got)
	}
}
