//go:build unix

package e2e_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// process is one of the programs, running.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{} // closed when it has ended and all is read
}

// promptRaces has programs with the race detector end without a rest of a second.
const promptRaces = "GORACE=atexit_sleep_ms=0"

// start runs a program in the checkout, as the commands of the documentation are run,
// with a few environment variables and nothing else from the environment of the test. It
// is killed if the test leaves it running.
func start(t *testing.T, environ map[string]string, name string, args ...string) *process {
	t.Helper()
	return startIn(t, checkout, environ, name, args...)
}

// startIn is start in a directory of its own, for programs that write there.
func startIn(t *testing.T, dir string, environ map[string]string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	p.cmd = exec.Command(built(name), args...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), promptRaces}
	for _, key := range slices.Sorted(maps.Keys(environ)) {
		p.cmd.Env = append(p.cmd.Env, key+"="+environ[key])
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // what it says is in ProcessState too
	}()
	t.Cleanup(p.cleanup)
	return p
}

func (p *process) cleanup() {
	_ = p.cmd.Process.Kill() // it has ended in a test that passes
	<-p.ended
	if p.t.Failed() {
		p.t.Logf("%v\nstandard output:\n%s\nstandard error:\n%s", p.cmd.Args, p.stdout, p.stderr)
	}
}

// waitFor waits until the output matches a pattern, and returns the submatches.
func (p *process) waitFor(o *output, pattern string) []string {
	p.t.Helper()
	found := o.await(pattern, p.ended)
	if found == nil {
		p.t.Fatalf("%v does not print what matches %q", p.cmd.Args, pattern)
	}
	return found
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v: %v", s, err)
	}
}

// code waits for the end and returns the exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(timeout):
		p.t.Fatalf("%v does not end", p.cmd.Args)
		return -1
	}
}

// stop ends the program as Ctrl-C does. The end must be an orderly one.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	if code := p.code(); code != 0 {
		p.t.Fatalf("%v ended with code %d after Ctrl-C, want 0", p.cmd.Args, code)
	}
}

// run runs a program that ends by itself, and wants the exit code.
func run(t *testing.T, want int, name string, args ...string) *process {
	t.Helper()
	p := start(t, nil, name, args...)
	if code := p.code(); code != want {
		t.Fatalf("%v ended with code %d, want %d", p.cmd.Args, code, want)
	}
	return p
}

// undivided runs f, and again if a window of that length ended meanwhile: what a limit
// lets through is certain only within one.
func undivided(window time.Duration, f func()) {
	for now := func() time.Time { return time.Now().UTC().Truncate(window) }; ; {
		began := now()
		f()
		if now().Equal(began) {
			return
		}
	}
}

// eventually asks again and again until ok says yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(timeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("it did not come to this: %s", what)
		}
	}
}
