package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

const (
	// patience is how long a server may take for its first answer.
	patience = 30 * time.Second
	// starts is how many ports are tried, and how often the same one is on a restart.
	starts = 5
	// restartPause is how long to wait in between.
	restartPause = 200 * time.Millisecond
)

// Process is a server. Its methods may be called by several goroutines, but only one at
// a time may call Restart.
type Process struct {
	Addr string // host:port

	t       testing.TB
	program string // its path
	args    []string
	ready   func(ctx context.Context, addr string) error
	setup   func(cmd *exec.Cmd)

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{}
	output  *output
}

// Start runs the program of that name until the test ends, and returns when it is
// ready. args are its arguments for a port of 127.0.0.1; they are asked for again if
// that port turns out to be taken. ready makes a connection of its own and returns nil
// when the server has answered on it; it returns an error when ctx is done.
func Start(
	t testing.TB, program string, args func(port string) []string,
	ready func(ctx context.Context, addr string) error,
) *Process {
	t.Helper()
	return StartWith(t, program, args, ready, func(*exec.Cmd) {})
}

// StartWith is Start for a program that needs more than arguments, such as another user.
// setup changes each command before it is started, on a restart too. Its SysProcAttr is not
// nil: on Linux it has the process killed when the process of the test ends.
func StartWith(
	t testing.TB, program string, args func(port string) []string,
	ready func(ctx context.Context, addr string) error, setup func(cmd *exec.Cmd),
) *Process {
	t.Helper()
	p := &Process{t: t, program: Find(t, program), ready: ready, setup: setup}
	t.Cleanup(p.Kill)
	var err error
	for range starts {
		port := FreePort(t)
		p.Addr, p.args = net.JoinHostPort("127.0.0.1", port), args(port)
		if err = p.run(); err == nil {
			return p
		}
		p.Kill()
	}
	t.Fatalf("servertest: %s does not start: %v", p.program, err)
	return nil
}

// Find is the path of a program that the test needs. Without it the test ends here.
func Find(t testing.TB, program string) (path string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	const why = "THIS TEST DID NOT RUN: it needs %s on the PATH, and there is none"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatalf(why, program)
	}
	t.Skipf(why, program)
	return ""
}

// FreePort is the number of a port of 127.0.0.1 that nobody used a moment ago.
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

// Kill ends the process at once, if it runs, and returns when it is gone.
func (p *Process) Kill() {
	p.signal(os.Kill)
	if ended := p.gone(); ended != nil {
		<-ended
	}
}

// Stop sends the process, if it runs, a signal that ends it in its own way, and returns
// when it is gone. It is killed if it takes half a minute.
func (p *Process) Stop(s os.Signal) {
	p.signal(s)
	if ended := p.gone(); ended != nil {
		select {
		case <-ended:
		case <-time.After(patience):
		}
	}
	p.Kill()
}

// Restart kills the server, if it runs, and starts it again on the same address. Another
// process may have been given the port in between, most often for a moment only.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	var err error
	for range starts {
		if err = p.run(); !errors.Is(err, errEnded) {
			break
		}
		time.Sleep(restartPause)
	}
	if err != nil {
		p.t.Fatalf("servertest: %s does not start again on %s: %v", p.program, p.Addr, err)
	}
}

// gone is closed when the process has ended. It is nil if there was none.
func (p *Process) gone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *Process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		_ = p.process.Signal(s)
	}
}

// run starts the process and waits until it answers.
func (p *Process) run() error {
	if err := p.launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.wait(ctx); err != nil {
		return fmt.Errorf("%w; it said: %q", err, p.output)
	}
	return nil
}

func (p *Process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = new(output)
	cmd := exec.Command(p.program, p.args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.output, p.output, attributes()
	p.setup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.process, p.ended = cmd.Process, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}

var errEnded = errors.New("the process ended")

// wait returns when the server answers, or never will. If the process has ended, it is
// another server that answers.
func (p *Process) wait(ctx context.Context) error {
	const pause = 5 * time.Millisecond
	ended := p.gone()
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
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(pause):
		}
	}
}
