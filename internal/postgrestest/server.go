// Package postgrestest starts real PostgreSQL servers for tests.
//
//	func TestPostgres(t *testing.T) {
//		server := postgrestest.Start(t)
//		t.Run("create", func(t *testing.T) { open(t, server.Database(t)) })
//		t.Run("list", func(t *testing.T) { open(t, server.Database(t)) })
//	}
//
// A server takes about a second to start and a database some hundredths of a second. So tests
// share a server ([Shared], or the subtests of one test), and each has its own database.
//
// A server listens on a free port of the loopback interface, asks for no password, keeps its
// files in a temporary directory, and ends with the test. The programs initdb, postgres and
// psql are looked for on the PATH, and then where Debian installs them. A test is skipped if
// one is missing, and fails if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// A server differs from what a program may silently rely on: it sorts strings by the rules of
// English and not by their bytes, its time zone is not UTC, and it writes the day of a date
// first.
//
// It does not sync its files (fsync=off), which nobody needs after a loss of power, but it
// writes them before it commits: a server that is killed loses nothing. It detects deadlocks
// after 20 ms instead of a second, since tests provoke them.
//
// Kill sends SIGQUIT, on which all processes of the server exit at once without a checkpoint.
// SIGKILL would end the first of them only; the others would keep the next server from
// starting.
package postgrestest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Server is a PostgreSQL server. Its methods are safe for concurrent use, except Kill and
// Restart.
type Server struct {
	process   *servertest.Process
	t         testing.TB
	psql      string       // the path of the program
	databases atomic.Int64 // how many Database has made
}

// superuser is the name of the superuser, who needs no password.
const superuser = "postgres"

// timeout bounds each command, which may have to wait for a busy machine.
const timeout = time.Minute

// Start runs a server until the test ends. Settings such as fsync=on take precedence over those
// of this package.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	initdb := find(t, "initdb")
	return start(t, settings, func(data string, asOwner func(*exec.Cmd)) { initialize(t, initdb, data, asOwner) })
}

// Standby runs a replica of the server until the test ends. From then on, a transaction of the
// server commits when the replica has it too (synchronous replication). The replica is
// read-only until Promote.
func (s *Server) Standby() *Server {
	s.t.Helper()
	host, port, err := net.SplitHostPort(s.Addr())
	require.NoError(s.t, err)
	copier := find(s.t, "pg_basebackup")
	standby := start(s.t, nil, func(data string, asOwner func(*exec.Cmd)) {
		require.NoError(s.t, runIn(data, asOwner, copier, "-h", host, "-p", port, "-U", superuser, "-D", data,
			"--write-recovery-conf", "--checkpoint=fast", "--no-sync"))
	})
	s.Exec(s.t, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Exec(s.t, "SELECT pg_reload_conf()")
	s.Exec(s.t, `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') LOOP
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
	END $$`)
	return standby
}

// Promote makes a replica a server of its own, which writes. It returns when it does.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "DO $$ BEGIN ASSERT pg_promote(); END $$")
}

// start runs a server on the data that initialize creates.
func start(t testing.TB, settings []string, initialize func(data string, asOwner func(*exec.Cmd))) *Server {
	t.Helper()
	postgres := find(t, "postgres")
	s := &Server{t: t, psql: find(t, "psql")}
	dir, err := os.MkdirTemp("", "postgres") // the server's user may not enter t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	asOwner := runAs(t, dir)
	data := filepath.Join(dir, "data")
	initialize(data, asOwner)
	s.process = servertest.StartWith(t, postgres, func(port string) []string {
		args := []string{"-D", data, "-p", port}
		for _, setting := range append([]string{
			"listen_addresses=127.0.0.1", "unix_socket_directories=",
			"fsync=off", "full_page_writes=off", "deadlock_timeout=20ms",
			"max_connections=300", // for parallel tests on machines with many processors
			"timezone=Asia/Kolkata", "datestyle=SQL, DMY",
		}, settings...) {
			args = append(args, "-c", setting)
		}
		return args
	}, func(ctx context.Context, addr string) error { return s.run(ctx, addr, "") }, func(cmd *exec.Cmd) {
		cmd.Dir = dir
		asOwner(cmd)
	})
	t.Cleanup(s.Kill) // before servertest kills the first process only
	return s
}

// find returns the path of a program, which may be where Debian installs those of servers.
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

// initialize creates the files of a server that sorts by the rules of English, if this version
// of initdb supports that.
func initialize(t testing.TB, initdb, data string, asOwner func(*exec.Cmd)) {
	t.Helper()
	args := []string{
		"--pgdata", data, "--username", superuser, "--auth", "trust", "--encoding", "UTF8",
		"--no-locale", "--no-sync", "--no-instructions",
	}
	run := func(args ...string) error { return runIn(data, asOwner, initdb, args...) }
	if run(append(args, "--locale-provider", "icu", "--icu-locale", "en-US")...) == nil {
		return
	}
	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, run(args...))
}

// runIn runs a command that creates the data of a server, as its owner.
func runIn(data string, asOwner func(*exec.Cmd), program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- programs of the PostgreSQL installation
	cmd.Dir, cmd.SysProcAttr = filepath.Dir(data), &syscall.SysProcAttr{}
	asOwner(cmd)
	return output(cmd)
}

// output runs a command and returns what it printed as an error if it fails.
func output(cmd *exec.Cmd) error {
	printed, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(string(printed)))
	}
	return err
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return s.process.Addr }

// Database creates an empty database and returns its URL, such as
// postgres://postgres@127.0.0.1:45123/test1?sslmode=disable.
func (s *Server) Database(t testing.TB) (address string) {
	t.Helper()
	return s.create(t, "")
}

// Copy creates a database with the contents of another one, to which nobody is connected, and returns
// its URL. It copies the files, which takes less time than a log of their pages.
func (s *Server) Copy(t testing.TB, of string) (address string) {
	t.Helper()
	u, err := url.Parse(of)
	require.NoError(t, err)
	return s.create(t, " STRATEGY FILE_COPY TEMPLATE "+strings.TrimPrefix(u.Path, "/"))
}

func (s *Server) create(t testing.TB, options string) (address string) {
	t.Helper()
	name := "test" + strconv.FormatInt(s.databases.Add(1), 10)
	s.Exec(t, "CREATE DATABASE "+name+options)
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Host: s.Addr(), Path: name, RawQuery: "sslmode=disable"}
	return u.String()
}

// Exec runs statements as the superuser in the database postgres, and drops their rows.
func (s *Server) Exec(t testing.TB, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.run(ctx, s.Addr(), statements); err != nil {
		t.Fatalf("postgrestest: %s: %v", statements, err)
	}
}

// run runs statements with psql, without a driver. Without statements it only connects.
func (s *Server) run(ctx context.Context, addr, statements string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	// #nosec G204 -- tests choose the statements
	return output(exec.CommandContext(ctx, s.psql, "--no-psqlrc", "-h", host, "-p", port, "-U", superuser, "-d", superuser, "-c", statements))
}

// Kill ends all processes of the server at once, as a crash does, and returns when they are
// gone.
func (s *Server) Kill() { s.process.Stop(syscall.SIGQUIT) }

// Restart kills the server, if it runs, and starts it again on the same address. What was
// committed is kept.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.process.Restart()
}
