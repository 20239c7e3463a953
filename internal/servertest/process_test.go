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

// role tells this program that it is the server.
const role = "SERVERTEST_ROLE"

// TestMain is the server, in the process that a test starts: it sends back what it is
// sent. If there is to be a mark, the first of them makes it and ends, as if another
// process had taken its port.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "broken":
		_, _ = os.Stderr.WriteString("no such thing as a port\n")
		os.Exit(1)
	}
	if mark := os.Getenv("SERVERTEST_MARK"); mark != "" {
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
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

// start runs this program as a server.
func start(t testing.TB, args func(port string) []string) *servertest.Process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, program, args, echo)
}

func onlyPort(port string) []string { return []string{port} }

// echo is one question and its answer.
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
		t.Fatalf("a server that was started: %v", err)
	}
	p.Freeze()
	if err := within(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a frozen server neither answers nor hangs up: %v", err)
	}
	p.Thaw()
	if err := within(time.Minute); err != nil {
		t.Errorf("a server that goes on: %v", err)
	}
	p.Kill()
	if err := within(time.Minute); err == nil {
		t.Error("a server that was killed answers")
	}
	p.Kill() // does no harm
	addr := p.Addr
	p.Restart()
	if err := within(time.Minute); err != nil || p.Addr != addr {
		t.Errorf("a server that was started again, at %s and not %s: %v", p.Addr, addr, err)
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
		t.Error("a server that was stopped answers")
	}
	p.Stop(os.Interrupt) // does no harm
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
		t.Error("the server lives on")
	}
}

func TestPortThatIsTaken(t *testing.T) {
	t.Setenv(role, "server")
	t.Setenv("SERVERTEST_MARK", t.TempDir()+"/mark")
	var asked []string
	p := start(t, func(port string) []string {
		asked = append(asked, port)
		return []string{port}
	})
	if len(asked) != 2 || !strings.HasSuffix(p.Addr, ":"+asked[1]) {
		t.Errorf("ports %q were tried, and the server is at %s", asked, p.Addr)
	}
}

// TestPortThatIsTakenOnRestart has the first process of the restart end, as if another had
// taken its port in the meantime.
func TestPortThatIsTakenOnRestart(t *testing.T) {
	t.Setenv(role, "server")
	p := start(t, onlyPort)
	p.Kill()
	mark := t.TempDir() + "/mark" // the process that makes it ends
	t.Setenv("SERVERTEST_MARK", mark)
	p.Restart()
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the server started at once: %v", err)
	}
}

// told is a test that is ended by what it tests.
type told struct {
	testing.TB
	fatal, skip string
}

func (t *told) Helper()                           {}
func (t *told) Fatalf(format string, args ...any) { t.fatal = fmt.Sprintf(format, args...); panic(t) }

func (t *told) Skipf(format string, args ...any) { t.skip = fmt.Sprintf(format, args...); panic(t) }

// ended calls f with a test, which it has to end.
func ended(t *testing.T, f func(testing.TB)) *told {
	t.Helper()
	outer := &told{TB: t}
	func() {
		defer func() {
			if r := recover(); r != any(outer) {
				t.Errorf("the test goes on: %v", r)
			}
		}()
		f(outer)
	}()
	return outer
}

func TestProgramThatIsMissing(t *testing.T) {
	find := func(t testing.TB) { servertest.Find(t, "no-program-has-this-name") }
	t.Setenv("ASHLAR_REQUIRE_SERVICES", "")
	if is := ended(t, find); !strings.HasPrefix(is.skip, "THIS TEST DID NOT RUN: it needs no-program") {
		t.Errorf("the test is not skipped loudly: %q", is.skip)
	}
	t.Setenv("ASHLAR_REQUIRE_SERVICES", "1")
	if is := ended(t, find); is.fatal == "" {
		t.Error("the test does not fail although services are required")
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Setenv(role, "broken")
	if is := ended(t, func(t testing.TB) { start(t, onlyPort) }); !strings.Contains(is.fatal, "no such thing as a port") {
		t.Errorf("the failure does not have what the process said: %q", is.fatal)
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
