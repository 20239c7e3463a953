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

// process is a running program.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{} // closed when the process has ended and its output is read
}

// promptRaces makes programs with the race detector exit without a delay of a second.
const promptRaces = "GORACE=atexit_sleep_ms=0"

// start starts a program in the checkout, as the documented commands do, with only the given
// environment variables. The process is killed when the test ends.
func start(t *testing.T, environ map[string]string, name string, args ...string) *process {
	t.Helper()
	return startIn(t, checkout, environ, name, args...)
}

// startIn is like start, in another working directory.
func startIn(t *testing.T, dir string, environ map[string]string, name string, args ...string) *process {
	t.Helper()
	return startBinary(t, dir, environ, built(name), args...)
}

// startBinary starts the program in a file.
func startBinary(t *testing.T, dir string, environ map[string]string, file string, args ...string) *process {
	t.Helper()
	p := &process{t: t, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	p.cmd = exec.Command(file, args...)
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
		_ = p.cmd.Wait() // ProcessState has the result
	}()
	t.Cleanup(p.cleanup)
	return p
}

func (p *process) cleanup() {
	_ = p.cmd.Process.Kill() // fails if the process has ended, as in a test that passes
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
		p.t.Fatalf("the output of %v does not match %q", p.cmd.Args, pattern)
	}
	return found
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v: %v", s, err)
	}
}

// code waits for the process and returns its exit code.
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

// stop interrupts the program, as Ctrl-C does, and requires the exit code 0.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	if code := p.code(); code != 0 {
		p.t.Fatalf("%v ended with code %d after Ctrl-C, want 0", p.cmd.Args, code)
	}
}

// run runs a program that ends by itself, and requires an exit code.
func run(t *testing.T, want int, name string, args ...string) *process {
	t.Helper()
	p := start(t, nil, name, args...)
	if code := p.code(); code != want {
		t.Fatalf("%v ended with code %d, want %d", p.cmd.Args, code, want)
	}
	return p
}

// undivided runs f, and repeats it if a window of that length ended meanwhile, because results are
// predictable only within one window.
func undivided(window time.Duration, f func()) {
	for now := func() time.Time { return time.Now().UTC().Truncate(window) }; ; {
		began := now()
		f()
		if now().Equal(began) {
			return
		}
	}
}

// eventually polls until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(timeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timeout: %s", what)
		}
	}
}
