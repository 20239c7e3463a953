package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// greet is a small program with flags.
func greet(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{Use: "greet [flags]", Long: "Greet greets."}
	name := c.Flags().String("name", "you", "who is `greeted`")
	n := c.Flags().IntP("n", "n", 1, "`times`")
	loud := c.Flags().Bool("loud", false, "whether to shout")
	c.RunE = func(_ *cobra.Command, args []string) error {
		fmt.Fprintf(env.Stdout, "hello %s %d %v %q", *name, *n, *loud, args)
		return nil
	}
	return env.Execute(ctx, c)
}

func TestExecute(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why            string
		args           string
		code           int
		stdout, stderr string // how the output begins, words of the error
	}{
		{"flags and arguments arrive", "-name Ada rest", 0, `hello Ada 1 false ["rest"]`, ""},
		{"flags come after arguments too", "rest --name=Ada -loud", 0, `hello Ada 1 true ["rest"]`, ""},
		{"the value of a switch follows an equals sign", "-loud=false -n=3", 0, `hello you 3 false []`, ""},
		{"a value may begin with a dash", "-name -loud -n -2", 0, `hello -loud -2 false []`, ""},
		{"the last value wins", "-name A -name=B", 0, `hello B 1 false []`, ""},
		{"one dash is an argument", "- -name -", 0, `hello - 1 false ["-"]`, ""},
		{"flags end with two dashes", "-loud -- -name Ada", 0, `hello you 1 true ["-name" "Ada"]`, ""},
		{"defaults hold", "", 0, `hello you 1 false []`, ""},
		{"help goes to the standard output", "-help", 0, "Greet greets.\n\nUsage:\n", ""},
		{"help is also -h", "-h", 0, "Greet greets.\n\nUsage:\n", ""},
		{"an unknown flag goes to the error stream", "-nmae x", 2, "", "greet: --nmae: -name?"},
		{"an unlike flag has no suggestion", "-zzzzzz", 2, "", "greet: --zzzzzz;"},
		{"a missing value as well", "-name", 2, "", "greet: argument --name;"},
		{"and an invalid one", "-n x", 2, "", `greet: "x" "-n, --n"`},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), "greet", greet, cli.Env{Args: strings.Fields(tc.args), Stdout: &stdout, Stderr: &stderr})
			assert.Equal(t, tc.code, code)
			assert.True(t, strings.HasPrefix(stdout.String(), tc.stdout) && (stdout.Len() == 0) == (tc.stdout == ""), "got %q, want it to begin with %q", &stdout, tc.stdout)
			assert.True(t, errtest.Names(stderr.String(), tc.stderr) && (stderr.Len() == 0) == (tc.stderr == ""), "got %q, want the words %q", &stderr, tc.stderr)
		})
	}
}
