package servertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// role is the environment variable that makes this program the server.
const role = "SERVERTEST_ROLE"

// TestMain runs the server, an echo server, in the child processes of the tests. With
// SERVERTEST_MARKER, the first process creates that file and exits, as if its port were taken.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "broken":
		_, _ = os.Stderr.WriteString("cannot listen\n")
		os.Exit(1)
	}
	if marker := os.Getenv("SERVERTEST_MARKER"); marker != "" {
		if _, err := os.Stat(marker); err != nil {
			_ = os.WriteFile(marker, nil, 0o600)
			os.Exit(1)
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Args[1]))
	if err != nil {
		os.Exit(1)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() { _, _ = io.Copy(conn, conn) }()
	}
}

// start starts this program as a server.
func start(t testing.TB, args func(port string) []string) *servertest.Process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, program, args, echo)
}

func onlyPort(port string) []string { return []string{port} }

// echo sends a byte and reads the reply.
func echo(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

func TestLife(t *testing.T) {
	t.Setenv(role, "server")
	p := start(t, onlyPort)
	within := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return echo(ctx, p.Addr)
	}
	if err := within(time.Minute); err != nil {
		t.Fatalf("started server: %v", err)
	}
	p.Freeze()
	if err := within(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a frozen server must neither reply nor close connections: %v", err)
	}
	p.Thaw()
	if err := within(time.Minute); err != nil {
		t.Errorf("continued server: %v", err)
	}
	p.Kill()
	if err := within(time.Minute); err == nil {
		t.Error("a killed server replies")
	}
	p.Kill() // has no effect
	addr := p.Addr
	p.Restart()
	if err := within(time.Minute); err != nil || p.Addr != addr {
		t.Errorf("restarted server: address %s, want %s: %v", p.Addr, addr, err)
	}
}

func TestFrozenServerCanBeKilled(t *testing.T) {
	t.Setenv(role, "server")
	p := start(t, onlyPort)
	p.Freeze()
	p.Restart()
	if err := echo(t.Context(), p.Addr); err != nil {
		t.Error(err)
	}
}

func TestStop(t *testing.T) {
	t.Setenv(role, "server")
	p := start(t, onlyPort)
	p.Stop(os.Interrupt)
	if err := echo(t.Context(), p.Addr); err == nil {
		t.Error("a stopped server replies")
	}
	p.Stop(os.Interrupt) // has no effect
}

func TestSetup(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	p := servertest.StartWith(t, program, onlyPort, echo, func(cmd *exec.Cmd) {
		times++
		cmd.Env = append(os.Environ(), role+"=server")
	})
	p.Restart()
	if times != 2 {
		t.Errorf("the command was set up %d times for a start and a restart", times)
	}
}

func TestEndsWithTheTest(t *testing.T) {
	t.Setenv(role, "server")
	var p *servertest.Process
	t.Run("inner", func(t *testing.T) { p = start(t, onlyPort) })
	if err := echo(t.Context(), p.Addr); err == nil {
		t.Error("the server still runs after the test")
	}
}

func TestTakenPort(t *testing.T) {
	t.Setenv(role, "server")
	t.Setenv("SERVERTEST_MARKER", t.TempDir()+"/marker")
	var ports []string
	p := start(t, func(port string) []string {
		ports = append(ports, port)
		return []string{port}
	})
	if len(ports) != 2 || !strings.HasSuffix(p.Addr, ":"+ports[1]) {
		t.Errorf("ports %q were tried, but the server is at %s", ports, p.Addr)
	}
}

// TestTakenPortOnRestart makes the first process of the restart exit, as if its port were
// taken.
func TestTakenPortOnRestart(t *testing.T) {
	t.Setenv(role, "server")
	p := start(t, onlyPort)
	p.Kill()
	marker := t.TempDir() + "/marker" // the process that creates it exits
	t.Setenv("SERVERTEST_MARKER", marker)
	p.Restart()
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the first process did not exit: %v", err)
	}
}

// recorder is a testing.TB that records how a test ends.
type recorder struct {
	testing.TB
	fatal, skip string
}

func (t *recorder) Helper() {}
func (t *recorder) Fatalf(format string, args ...any) {
	t.fatal = fmt.Sprintf(format, args...)
	panic(t)
}

func (t *recorder) Skipf(format string, args ...any) { t.skip = fmt.Sprintf(format, args...); panic(t) }

// record calls f, which must end its test.
func record(t *testing.T, f func(testing.TB)) *recorder {
	t.Helper()
	outer := &recorder{TB: t}
	func() {
		defer func() {
			if r := recover(); r != any(outer) {
				t.Errorf("the test was not ended: %v", r)
			}
		}()
		f(outer)
	}()
	return outer
}

func TestMissingProgram(t *testing.T) {
	find := func(t testing.TB) { servertest.Find(t, "no-program-has-this-name") }
	t.Setenv("ASHLAR_REQUIRE_SERVICES", "")
	if is := record(t, find); !strings.HasPrefix(is.skip, "THIS TEST DID NOT RUN: no-program") {
		t.Errorf("unexpected reason for skipping: %q", is.skip)
	}
	t.Setenv("ASHLAR_REQUIRE_SERVICES", "1")
	if is := record(t, find); is.fatal == "" {
		t.Error("the test does not fail although services are required")
	}
}

func TestServerThatCannotStart(t *testing.T) {
	t.Setenv(role, "broken")
	if is := record(t, func(t testing.TB) { start(t, onlyPort) }); !strings.Contains(is.fatal, "cannot listen") {
		t.Errorf("the failure does not contain the output of the process: %q", is.fatal)
	}
}

func TestFreePort(t *testing.T) {
	var err error
	for range 5 { // another process may be faster
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+servertest.FreePort(t)); err == nil {
			_ = l.Close()
			return
		}
	}
	t.Fatal(err)
}
