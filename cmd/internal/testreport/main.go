// Command testreport runs go test and reports its progress:
//
//	go run ./cmd/internal/testreport -race -shuffle=on -timeout=20m ./...
//
// Its arguments are those of go test; -C is written as -C=DIR. It prints what to expect, a line for each package in the order in which they
// finish, the complete output of failed tests and builds when their package ends, and at the end the
// numbers of tests, all skipped tests by reason, and the failed tests. A subtest counts as a test.
//
// The exit code is 1 if a test or a build fails, if go test fails for another reason or is interrupted,
// if its output is no sequence of events, or if no package was tested.
//
// # Design notes
//
// The output of a test is kept until it ends, because only then it is known whether it is shown. A
// large output is kept in a temporary file.
//
// go test runs in a process group of its own. The tests are its children, and go test does not pass on
// a signal.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// killDelay is how long an interrupted go test may take to end.
const killDelay = 5 * time.Second

func main() { cli.Main("testreport", run) }

func run(ctx context.Context, env cli.Env) error {
	total, err := countPackages(ctx, env)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, expectation(total, slices.Contains(env.Args, "-race")))
	r := newReport(env.Stdout, total)
	defer r.close()
	cmd := goCommand(ctx, "test", env.Args, "-json")
	cmd.Stdout, cmd.Stderr = r, env.Stderr
	inGroup(cmd)
	cmd.WaitDelay = killDelay
	err = cmd.Run()
	if ctx.Err() != nil {
		killGroup(cmd)
	}
	return errors.Join(r.finish(err), interruption(ctx))
}

// interruption returns an error if ctx has ended. It wraps nothing, because an interrupted test is no
// success.
func interruption(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("interrupted: %v", context.Cause(ctx))
}

// goCommand returns a go command with the flag -C of args, which must be the first one, and others.
func goCommand(ctx context.Context, name string, args []string, flags ...string) *exec.Cmd {
	if len(args) > 0 && strings.HasPrefix(args[0], "-C=") {
		flags = slices.Concat(args[:1], flags)
		args = args[1:]
	}
	if name == "test" {
		flags = append(flags, args...)
	}
	return exec.CommandContext(ctx, "go", append([]string{name}, flags...)...) // #nosec G204 -- go with the arguments of the caller
}

// countPackages returns the number of packages with tests that the arguments of go test name. Values of
// flags, such as that of -run, are no packages with tests and do not count.
func countPackages(ctx context.Context, env cli.Env) (int, error) {
	flags := []string{"-e", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	var patterns []string
	for _, arg := range env.Args {
		if arg == "-args" || arg == "--args" {
			break
		}
		switch {
		case arg == "-race" || strings.HasPrefix(arg, "-tags="):
			flags = append(flags, arg)
		case !strings.HasPrefix(arg, "-"):
			patterns = append(patterns, arg)
		}
	}
	cmd := goCommand(ctx, "list", env.Args, append(flags, patterns...)...)
	cmd.Stderr = env.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, errors.Join(fmt.Errorf("go list %s: %v", strings.Join(patterns, " "), err), interruption(ctx))
	}
	return len(bytes.Fields(out)), nil
}

// Seconds of a package on two cores, including its compilation: the mean of the packages of this
// repository.
const (
	packageTime     = 4 * time.Second
	packageTimeRace = 10 * time.Second
)

// expectation returns what to expect of a run.
func expectation(packages int, race bool) string {
	duration, detector := time.Duration(packages)*packageTime, "without"
	if race {
		duration, detector = time.Duration(packages)*packageTimeRace, "with"
	}
	long := "about " + cli.Count(int(duration.Round(time.Minute)/time.Minute), "minute")
	if duration < time.Minute {
		long = "about a minute"
	}
	return fmt.Sprintf("%s to test: the first run takes %s on two cores %s the race detector; later runs take less, because compiled packages are cached",
		cli.Count(packages, "package"), long, detector)
}
