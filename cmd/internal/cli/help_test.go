package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// tool is a program with commands.
func tool(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "my-tool [flags] COMMAND", Long: "My-tool starts things.", Example: "  my-tool start\n    \tstarts it",
		Annotations: map[string]string{cli.ExitCodes: "7 nothing to start"},
	}
	own := flag.NewFlagSet("", flag.ContinueOnError)
	own.String("name", "", "the `name`")
	given := cli.GoFlags(c.PersistentFlags(), own)
	run := func(c *cobra.Command, args []string) error {
		_, err := fmt.Fprint(env.Stdout, c.Name(), given(), args)
		return err
	}
	start := &cobra.Command{Use: "start", Short: "starts", Args: cli.Args(0, 1, "at most one argument"), RunE: run}
	start.Flags().Bool("fast", false, "now")
	c.AddCommand(start, &cobra.Command{Use: "stop", Short: "stops", RunE: run})
	return env.Execute(ctx, c)
}

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), "my-tool", tool, cli.Env{Args: args, Stdout: &o, Stderr: &e})
	return code, o.String(), e.String()
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"-help"}, {"help"}, nil} {
		code, out, errs := call(t, args...)
		assert.Equal(t, cli.ExitOK, code)
		assert.Empty(t, errs)
		for _, part := range []string{
			"My-tool starts things.\n\nUsage:\n", "\n\nExamples:\n  my-tool start\n    \tstarts it\n", "\n  start  ", "\n      --name name ", "\nExit codes: 0 ", "7 nothing to start.\n",
		} {
			assert.Contains(t, out, part)
		}
	}
	_, out, _ := call(t, "start", "-h")
	assert.Contains(t, out, "--fast")
	assert.NotContains(t, out, "--name")
	for _, flag := range []string{"-version", "--version"} {
		code, out, _ := call(t, flag)
		assert.Equal(t, cli.ExitOK, code)
		assert.Regexp(t, `^my-tool \S+ \((commit [0-9a-f]{12}( with changes)?, )?go1\.\d+(\.\d+)?, \w+/\w+\)\n$`, out)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args      []string
		out, errs string
	}{
		{[]string{"-name", "stop", "start"}, "startmap[name:stop] []", ""},
		{[]string{"start", "-fast", "-name=x", "stop"}, "startmap[name:x] [stop]", ""},
		{[]string{"stat"}, "", `my-tool: "stat": start?;`},
		{[]string{"help", "stat"}, "", `my-tool: "stat": start?;`},
		{[]string{"start", "a", "b"}, "", "start one argument"},
		{[]string{"stop", "-fast"}, "", "--fast; stop"},
	} {
		code, out, errs := call(t, c.args...)
		assert.Equal(t, map[bool]int{true: cli.ExitOK, false: cli.ExitUsage}[c.errs == ""], code, c.args)
		assert.Equal(t, c.out, out)
		assert.True(t, errtest.Names(errs, c.errs) && (errs == "") == (c.errs == ""), "got %q, want the words %q", errs, c.errs)
	}
}

// The scripts of shells are accepted by these, and the program completes what they ask for.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		for _, args := range [][]string{{"-completion", shell}, {"completion", shell}} {
			code, script, errs := call(t, args...)
			require.Equal(t, cli.ExitOK, code, errs)
			assert.Contains(t, script, "my-tool")
			if path, err := exec.LookPath(shell); err == nil {
				out, err := exec.CommandContext(t.Context(), path, "-n", "-c", script).CombinedOutput()
				assert.NoError(t, err, "%s", out)
			}
		}
	}
	_, out, _ := call(t, "__complete", "-name", "x", "sta")
	assert.Contains(t, out, "start\tstarts\n")
	_, out, _ = call(t, "__complete", "start", "--fa")
	assert.Contains(t, out, "--fast\tnow\n")
	code, _, errs := call(t, "-completion", "tcsh")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "bash, zsh or fish")
}
