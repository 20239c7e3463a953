//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// program builds the program and returns a function that prepares a call of it in the fixture. Its
// temporary files are in temp.
func program(t *testing.T) (call func(args ...string) *exec.Cmd, temp string) {
	t.Helper()
	binary, temp := filepath.Join(t.TempDir(), "testreport"), t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = filepath.Join("testdata", "fixture")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		return cmd
	}, temp
}

// TestReport runs tests that end in each way there is.
func TestReport(t *testing.T) {
	t.Parallel()
	call, temp := program(t)
	cmd := call("-shuffle=on", "-timeout=5s", "./pass", "./fail", "./skip", "./panics", "./broken", "./slow", "./partial", "./exits", "./none")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Equal(t, "testreport: 5 of 8 packages failed\n", stderr.String())
	out := string(stdout)
	require.NotContains(t, out, "\r")
	require.NotContains(t, out, "\x1b")
	require.NotContains(t, out, "passed test", "the output of passed tests is not shown")
	require.True(t, strings.HasPrefix(out, "8 packages to test: the first run takes about a minute on two cores without the race detector; later runs take less, because compiled packages are cached\n"), out)

	// The output of each package ends with its result.
	shown := map[string]string{}
	for i, rest := 1, out; i <= 8; i++ {
		block, after, found := strings.Cut(rest, fmt.Sprintf("\n[%d/8] ", i))
		require.True(t, found, "%d: %s", i, out)
		result, after, _ := strings.Cut(after, "\n")
		name := strings.TrimPrefix(strings.Fields(result)[1], "example.com/fixture/")
		shown[name] = block + "\n" + result
		rest = "\n" + after
	}
	for _, name := range []string{"pass", "skip", "partial"} {
		require.Regexp(t, `(^|\n)ok  \texample.com/fixture/`+name+`\t[\d.]+s$`, shown[name])
	}
	for name, parts := range map[string][]string{
		"fail":   {"-test.shuffle ", "=== RUN   TestFail\nprinted by a failed test\n", "    fail_test.go:11: want 2\n--- FAIL: TestFail/sub (", "fail_test.go:18: too large\n"},
		"panics": {"-test.shuffle ", "panic: out of cheese", "panics.TestPanic("},
		"broken": {"# example.com/fixture/broken [example.com/fixture/broken.test]\nbroken/broken_test.go:5:31: undefined: undefinedName\n", "FAIL\texample.com/fixture/broken [build failed]"},
		"slow":   {"-test.shuffle ", "    slow_test.go:6: waits\npanic: test timed out after 5s\n", "slow.TestSlow("},
		"exits":  {"-test.shuffle ", "=== RUN   TestExits\nabout to exit\n"},
	} {
		for _, part := range parts {
			require.Contains(t, shown[name], part)
		}
	}
	var large strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&large, strings.Repeat("x", 100), i)
	}
	require.Contains(t, shown["fail"], "=== RUN   TestLarge\n"+large.String()+"    fail_test.go:18: ", "all of it")

	_, summary, _ := strings.Cut(out, "\n\n5 passed, 6 failed, 15 skipped in ")
	require.Contains(t, summary, "\nskipped:\n"+
		"  1 test: after a partial line\n      example.com/fixture/partial TestPartialSkip\n"+
		"  1 test: no reason given\n      example.com/fixture/skip TestSilent\n"+
		"  1 test: no server: install one\n      example.com/fixture/skip TestSkip\n"+
		"  12 tests: set LONG\n      example.com/fixture/skip TestParent/00\n")
	require.Contains(t, summary, "TestParent/09\n      and 2 more\n\nfailed:\n")
	_, failed, _ := strings.Cut(summary, "\nfailed:\n")
	require.ElementsMatch(t, []string{
		"fail TestFail", "fail TestFail/sub", "fail TestLarge", "panics TestPanic", "broken (build failed)", "slow TestSlow (did not finish)", "exits TestExits (did not finish)",
	}, strings.Split(strings.ReplaceAll(strings.TrimSpace(failed), "  example.com/fixture/", "example.com/fixture/")[len("example.com/fixture/"):], "\nexample.com/fixture/"))
	left, err := filepath.Glob(filepath.Join(temp, "testreport-*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
}

// TestResults: only tests that ran and passed are a success.
func TestResults(t *testing.T) {
	t.Parallel()
	call, _ := program(t)
	const start, pass = `{"Action":"start","Package":"p"}\n`, `{"Action":"pass","Package":"p"}\n`
	for _, c := range []struct {
		args, fake string // fake is the output of another go test
		code       int
		want       string
	}{
		{"./pass ./none", "", 0, "2 passed, 0 failed, 0 skipped in "},
		{"-C=pass .", "", 0, "[1/1] ok  \t"},
		{"-run=TestFine ./fail", "", 0, "1 passed, 0 failed"},
		{"./none", "", 1, "no package was tested: name packages with tests"},
		{"./missing", "", 1, "testreport: 1 of 1 package failed"},
		{"./pass -no-such-flag=x", "", 1, "flag provided but not defined: -no-such-flag"},
		{"-timeout=x ./pass", "", 1, "testreport: go test: exit status 2"},
		{"-run TestFine ./fail", "", 0, "1 package to test"},
		{"p", start + pass, 0, "[1/1] pass\tp\n"},
		{"p", start + "{broken\n" + pass, 1, "{broken\n"},
		{"p", start + "{broken\n" + pass, 1, "1 line of go test -json cannot be read"},
		{"p", start + "[]\n" + pass, 1, "1 line of go test -json cannot be read"},
		{"p", start + pass + `{"Action`, 1, "1 line of go test -json cannot be read"},
		{"p", start, 1, "p (go test ended before the package)"},
		{"p", start + `{"Action":"fail","Package":"p"}\n`, 1, "testreport: 1 of 1 package failed"},
		{"p", start + `{"Action":"output","Package":"p","Output":"leak\\n"}\n{"Action":"fail","Package":"p"}\n`, 1, "p (the package failed, and none of its tests)"},
	} {
		cmd := call(strings.Fields(c.args)...)
		if c.fake != "" {
			dir := t.TempDir()
			script := "#!/bin/sh\ncase $1 in list) echo p;; test) printf '" + c.fake + "';; esac\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700)) // #nosec G306 -- a program
			cmd.Env = append(cmd.Env, "PATH="+dir+":"+os.Getenv("PATH"))
		}
		out, _ := cmd.CombinedOutput()
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s %s:\n%s", c.args, c.fake, out)
		require.Contains(t, string(out), c.want, "%s %s", c.args, c.fake)
	}
	cmd := call("./pass")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	out, _ := cmd.CombinedOutput()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
	require.Contains(t, string(out), `exec: "go": executable file not found`)
}

// TestInterrupted: the tests end with the program, although only the program gets the signal.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	call, _ := program(t)
	started := filepath.Join(t.TempDir(), "pid")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	cmd := call("./hangs")
	cmd.Env = append(cmd.Env, "FIXTURE_PID="+started)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	id, err := os.ReadFile(started) // waits for the test
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(id))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, out.String(), "interrupted: context canceled by signal: interrupt")
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the test has ended:\n%s", out.String())
}
