//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// The test binary runs itself as one of these programs if the variable names it.
const programVariable = "CLI_TEST_PROGRAM"

func programs() map[string]cli.Program {
	return map[string]cli.Program{"wait": wait, "hang": hang, "echo": echo}
}

func TestMain(m *testing.M) {
	if program, ok := programs()[os.Getenv(programVariable)]; ok {
		cli.Main("prog", program)
	}
	os.Exit(m.Run())
}

// wait ends in good order and tells why.
func wait(ctx context.Context, env cli.Env) error {
	fmt.Fprintln(env.Stdout, "ready")
	<-ctx.Done()
	fmt.Fprintln(env.Stdout, context.Cause(ctx))
	return ctx.Err()
}

// hang never comes to an end: its standard input stays open.
func hang(ctx context.Context, env cli.Env) error {
	fmt.Fprintln(env.Stdout, "ready")
	<-ctx.Done()
	fmt.Fprintln(env.Stdout, "stopping")
	_, err := io.Copy(io.Discard, env.Stdin)
	return err
}

// echo fails with everything it was given.
func echo(_ context.Context, env cli.Env) error {
	in, err := io.ReadAll(env.Stdin)
	return fmt.Errorf("args %q, environment %q, input %q, error %v", env.Args, env.Environ[programVariable], in, err)
}

// process is this binary, started again as a program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr *bytes.Buffer
}

func start(t *testing.T, program string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), programVariable+"="+program)
	p := &process{t: t, cmd: cmd, stderr: new(bytes.Buffer)}
	cmd.Stderr = p.stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(stdout)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) expect(want string) {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if strings.TrimSuffix(line, "\n") != want {
		p.t.Fatalf("the program said %q (%v), want %q; stderr %q", line, err, want, p.stderr)
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end, which must come with this code and print nothing more.
func (p *process) exits(code int) {
	p.t.Helper()
	rest, _ := io.ReadAll(p.lines)
	err := p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code || len(rest)+p.stderr.Len() > 0 {
		p.t.Fatalf("exit code %d (%v), stdout %q, stderr %q; want %d and silence", got, err, rest, p.stderr, code)
	}
}

func TestFirstSignalEndsContext(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "wait")
			p.expect("ready")
			p.signal(s)
			p.expect("context canceled by signal: " + s.String())
			p.exits(cli.ExitOK)
		})
	}
}

func TestSecondSignalExits(t *testing.T) {
	t.Parallel()
	for first, second := range map[syscall.Signal]syscall.Signal{
		syscall.SIGINT:  syscall.SIGINT,
		syscall.SIGTERM: syscall.SIGINT,
	} {
		t.Run(first.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "hang")
			p.expect("ready")
			p.signal(first)
			p.expect("stopping")
			p.signal(second)
			p.exits(128 + int(second))
		})
	}
}

func TestMainPassesProcessOn(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-a", "b")
	cmd.Env = append(os.Environ(), programVariable+"=first", programVariable+"=echo")
	cmd.Stdin = strings.NewReader("input")
	out, err := cmd.CombinedOutput()
	want := "prog: args [\"-a\" \"b\"], environment \"echo\", input \"input\", error <nil>\n"
	if string(out) != want || cmd.ProcessState.ExitCode() != cli.ExitFailure {
		t.Errorf("the program printed %q and ended with %v; want %q and code 1", out, err, want)
	}
}
