package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	// startTimeout limits how long a server takes until its first reply, or to stop.
	startTimeout = 30 * time.Second
	// maxStarts is the number of ports tried, and of attempts on the same port at a restart.
	maxStarts = 5
	// restartPause is the pause between these attempts.
	restartPause = 200 * time.Millisecond
)

// Process is a server process. Its methods are safe for concurrent use, except for Restart.
type Process struct {
	Addr string // host:port

	t       testing.TB
	program string // its path
	args    []string
	ready   func(ctx context.Context, addr string) error
	setup   func(cmd *exec.Cmd)
	output  string // a file with what it prints

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// Start starts a program that runs until the test ends, and returns when it is ready. args
// returns the arguments for a port of 127.0.0.1; it is called again if that port turns out to
// be taken. ready opens a connection and returns nil when the server has replied on it, or an
// error when ctx is done.
func Start(
	t testing.TB, program string, args func(port string) []string,
	ready func(ctx context.Context, addr string) error,
) *Process {
	t.Helper()
	return StartWith(t, program, args, ready, func(*exec.Cmd) {})
}

// StartWith is Start for a program that needs more than arguments, such as another user.
// setup modifies each command before it starts, on restarts too. The SysProcAttr of the
// command is not nil: on Linux it kills the process when the test process ends.
func StartWith(
	t testing.TB, program string, args func(port string) []string,
	ready func(ctx context.Context, addr string) error, setup func(cmd *exec.Cmd),
) *Process {
	t.Helper()
	p := &Process{t: t, program: Find(t, program), ready: ready, setup: setup, output: filepath.Join(t.TempDir(), "output")}
	t.Cleanup(p.Kill)
	var err error
	for range maxStarts {
		port := FreePort(t)
		p.Addr, p.args = net.JoinHostPort("127.0.0.1", port), args(port)
		if err = p.run(); err == nil {
			return p
		}
	}
	t.Fatalf("servertest: %s does not start: %v", p.program, err)
	return nil
}

// Find returns the path of a program. Without it, the test is skipped or fails.
func Find(t testing.TB, program string) (path string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	const why = "THIS TEST DID NOT RUN: %s is not on the PATH"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatalf(why, program)
	}
	t.Skipf(why, program)
	return ""
}

// FreePort returns the number of a port of 127.0.0.1 that was free a moment ago.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// PID returns the number of the running process, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return 0
	}
	return p.process.Pid
}

// Kill kills the process, if it runs, and waits for its end.
func (p *Process) Kill() { p.Stop(os.Kill) }

// Stop sends a signal to the process, if it runs, and waits for its end. It kills the process
// after 30 seconds.
func (p *Process) Stop(s os.Signal) {
	p.signal(s)
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(startTimeout):
		p.signal(os.Kill)
		<-ended
	}
}

// Restart kills the server, if it runs, and starts it again on the same address. It tries
// several times, because another process may have taken the port for a moment.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	var err error
	for range maxStarts {
		if err = p.run(); !errors.Is(err, errEnded) {
			break
		}
		time.Sleep(restartPause)
	}
	if err != nil {
		p.t.Fatalf("servertest: %s does not restart on %s: %v", p.program, p.Addr, err)
	}
}

func (p *Process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		_ = p.process.Signal(s)
	}
}

// run starts the process and waits until it is ready.
func (p *Process) run() error {
	ended, err := p.launch()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := p.wait(ctx, ended); err != nil {
		p.Kill()
		printed, _ := os.ReadFile(p.output)
		return fmt.Errorf("%w; output: %q", err, printed)
	}
	return nil
}

func (p *Process) launch() (ended chan struct{}, err error) {
	output, err := os.Create(p.output) // #nosec G304 -- a file of the test
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }()     // the process has its own
	cmd := exec.Command(p.program, p.args...) // #nosec G204 -- tests choose the program
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = output, output, attributes()
	p.setup(cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan struct{})
	p.process, p.ended = cmd.Process, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return ended, nil
}

var errEnded = errors.New("the process ended")

// wait waits until the server is ready or has ended. If the process has ended, any reply comes
// from another server on the same port.
func (p *Process) wait(ctx context.Context, ended <-chan struct{}) error {
	const pause = 5 * time.Millisecond
	for {
		err := p.ready(ctx, p.Addr)
		select {
		case <-ended:
			return errEnded
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("it does not reply: %w", err)
		case <-time.After(pause):
		}
	}
}
