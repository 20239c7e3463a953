package postgrestest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Options are the choices for a server. The zero value, like nil, is a server as the
// package comment has it.
type Options struct {
	// Args are further arguments of postgres, such as "-c", "max_connections=10".
	Args []string
}

// Server is a PostgreSQL server. Its methods may be called by several goroutines, but
// only one at a time may call Freeze, Thaw, Kill and Restart.
type Server struct {
	*servertest.Process

	t         testing.TB
	directory string
	frozen    []int // processes
	databases atomic.Int64
}

// superuser is the name of the user who may do everything, without a password.
const superuser = "postgres"

// patience is how long anything may take that a server does when it is asked.
const patience = time.Minute

// Start runs a server until the test ends. opts may be nil.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	initdb, postgres := find(t, "initdb"), find(t, "postgres") // before anything is made for them
	if opts == nil {
		opts = new(Options)
	}
	s := &Server{t: t}
	setup := s.own()
	s.initialize(initdb, setup)
	s.Process = servertest.StartWith(t, postgres, func(port string) []string {
		return append(s.args(port), opts.Args...)
	}, ready, setup)
	t.Cleanup(s.Kill) // before it would be killed in the rough way, which leaves processes
	return s
}

// find is the path of a program, which may be where Debian puts those of servers.
func find(t testing.TB, program string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return servertest.Find(t, program)
}

// own makes the directory, and returns what has a command run as its owner. It is not
// one of the test, because nobody else may look into those.
func (s *Server) own() (setup func(*exec.Cmd)) {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "postgres")
	check(s.t, err)
	s.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.directory = dir
	attr := attributes(s.t, dir)
	return func(cmd *exec.Cmd) { cmd.Dir, cmd.SysProcAttr = dir, attr }
}

// initialize makes the files of a server, which sorts by the rules of a language if this
// version can do so for all of its databases.
func (s *Server) initialize(initdb string, setup func(*exec.Cmd)) {
	s.t.Helper()
	args := []string{
		"--pgdata", s.data(), "--username", superuser, "--auth", "trust", "--encoding", "UTF8",
		"--no-locale", "--no-sync", "--no-instructions",
	}
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, initdb, args...)
		setup(cmd)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	if _, err := run(append(args, "--locale-provider", "icu", "--icu-locale", "en-US")...); err == nil {
		return
	}
	check(s.t, os.RemoveAll(s.data()))
	if said, err := run(args...); err != nil {
		s.t.Fatalf("postgrestest: %s: %v; it said: %q", initdb, err, said)
	}
}

func (s *Server) data() string { return filepath.Join(s.directory, "data") }

// args are the arguments of a server that keeps to itself and is quick.
func (s *Server) args(port string) []string {
	args := []string{"-D", s.data(), "-p", port}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=",
		"fsync=off", "full_page_writes=off", "deadlock_timeout=20ms",
		"max_connections=300", // for tests in parallel, on machines with many processors
		"timezone=Asia/Kolkata", "datestyle=SQL, DMY",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// Database makes an empty database and returns its address, such as
// postgres://postgres@127.0.0.1:45123/test1?sslmode=disable.
func (s *Server) Database(t testing.TB) (address string) {
	t.Helper()
	name := "test" + strconv.FormatInt(s.databases.Add(1), 10)
	s.Exec(t, "CREATE DATABASE "+name)
	at := url.URL{Scheme: "postgres", User: url.User(superuser), Host: s.Addr, Path: name, RawQuery: "sslmode=disable"}
	return at.String()
}

// Exec runs statements in the server's own database, as the user who may do everything:
// to end connections, say. Their rows are dropped.
func (s *Server) Exec(t testing.TB, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, s.Addr, statements); err != nil {
		t.Fatalf("postgrestest: %s: %v", statements, err)
	}
}

// Kill ends all processes of the server at once, as a crash does, and returns when they
// are gone.
func (s *Server) Kill() {
	s.Thaw() // a process that is frozen would not hear of it
	s.Stop(syscall.SIGQUIT)
}

// Restart kills the server, if it runs, and starts it again on the same address. What was
// committed is there again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Process.Restart()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
