package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// tool is a program with a help.
func tool(_ context.Context, env cli.Env) error {
	f := flag.NewFlagSet("my-tool", flag.ContinueOnError)
	f.String("name", "", "the `name`")
	h := &cli.Help{
		About: "My-tool starts things.", Usage: []string{"my-tool [flags] start", "my-tool stop"},
		Commands: [][2]string{{"start", "starts"}, {"stop", "stops"}},
		Examples: [][2]string{{"my-tool start", "starts it"}}, Exit: []string{"7 nothing to start"},
	}
	env.Commands = h.Define(f)
	return env.Parse(f)
}

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), "my-tool", tool, cli.Env{Args: args, Stdout: &o, Stderr: &e})
	return code, o.String(), e.String()
}

func TestHelp(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "-h")
	assert.Equal(t, cli.ExitOK, code)
	assert.Empty(t, errs)
	assert.Equal(t, `My-tool starts things.

Usage: my-tool [flags] start
       my-tool stop

Commands:
  start  starts
  stop   stops

Examples:
  my-tool start
    	starts it

Flags:
  -name name
    	the name
  -completion shell
    	print completions for bash, zsh or fish, and exit
  -version
    	print the version and exit

Exit codes: 0 success, or stopped by a signal; 1 failure; 2 wrong arguments or settings; 7 nothing to start.
`, out)
	for _, flag := range []string{"-version", "--version"} {
		code, out, _ = call(t, flag)
		assert.Equal(t, cli.ExitOK, code)
		assert.Regexp(t, `^my-tool \S+ \((commit [0-9a-f]{12}( with changes)?, )?go1\.\d+(\.\d+)?, \w+/\w+\)\n$`, out)
	}
}

// The completions of bash complete, and those of the other shells are accepted by these.
func TestCompletion(t *testing.T) {
	t.Parallel()
	code, script, errs := call(t, "-completion", "bash")
	require.Equal(t, cli.ExitOK, code, errs)
	for _, c := range []struct{ words, want string }{
		{"my-tool -na", "-name"}, {"my-tool --na", ""}, {"my-tool st", "start stop"}, {"my-tool start st", ""}, {"my-tool -vers", "-version"},
	} {
		args := append([]string{"-c", script + `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _my_tool; echo "${COMPREPLY[@]}"`, "bash"}, strings.Fields(c.words)...)
		out, err := exec.CommandContext(t.Context(), "bash", args...).Output()
		require.NoError(t, err)
		assert.Equal(t, c.want, strings.TrimSpace(string(out)), c.words)
	}
	_, script, _ = call(t, "--completion", "zsh")
	assert.Contains(t, script, "compadd -- -completion -help -name -version")
	_, script, _ = call(t, "-completion", "fish")
	assert.Contains(t, script, "complete -c my-tool -o name\n")
	for shell, flag := range map[string]string{"zsh": "zsh", "fish": "fish"} {
		if path, err := exec.LookPath(shell); err == nil {
			_, script, _ := call(t, "-completion", flag)
			out, err := exec.CommandContext(t.Context(), path, "-n", "-c", script).CombinedOutput()
			assert.NoError(t, err, "%s", out)
		}
	}
	code, _, errs = call(t, "-completion", "tcsh")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "use bash, zsh or fish")
}
