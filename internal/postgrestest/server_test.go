package postgrestest_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
)

// failing is a test whose Fatalf panics with the message.
type failing struct{ testing.TB }

func (failing) Helper() {}

func (failing) Fatalf(_ string, args ...any) { panic(args[1]) }

// requireTrue has the server evaluate a condition.
func requireTrue(t *testing.T, server *postgrestest.Server, condition string) {
	t.Helper()
	server.Exec(t, "DO $$ BEGIN ASSERT "+condition+"; END $$")
}

func TestServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the server's user has to pass
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Run("server", func(t *testing.T) {
		server := postgrestest.Start(t)
		t.Run("differs from usual settings", func(t *testing.T) {
			requireTrue(t, server, "'a' < 'B' AND 'B' < 'c'")
			requireTrue(t, server, "current_setting('TimeZone') <> 'UTC'")
			requireTrue(t, server, "DATE '2026-01-31' = '31/01/2026'")
		})
		t.Run("databases", func(t *testing.T) { testDatabases(t, server) })
		t.Run("failing statement", func(t *testing.T) {
			defer func() {
				if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "division by zero") {
					t.Errorf("the test fails with %v", err)
				}
			}()
			server.Exec(failing{t}, "SELECT 1/0")
		})
		t.Run("standby", testStandby)
		t.Run("kill and restart", func(t *testing.T) { testRestart(t, server) })
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func testDatabases(t *testing.T, server *postgrestest.Server) {
	first, second := server.Database(t), server.Database(t)
	if first == second {
		t.Error("two databases have the same URL")
	}
	for _, address := range []string{first, second} {
		u, err := url.Parse(address)
		if err != nil || u.Host != server.Addr() || u.User.Username() != "postgres" {
			t.Errorf("%s: %v", address, err)
		}
		requireTrue(t, server, "EXISTS (SELECT FROM pg_database WHERE datname = '"+strings.TrimPrefix(u.Path, "/")+"')")
	}
}

func testStandby(t *testing.T) {
	other := postgrestest.Start(t)
	other.Exec(t, "CREATE TABLE replicated AS SELECT 1 AS n")
	standby := other.Standby()
	requireTrue(t, standby, "pg_is_in_recovery()")
	other.Exec(t, "INSERT INTO replicated VALUES (2)")
	other.Kill()
	standby.Promote(t)
	requireTrue(t, standby, "(SELECT sum(n) FROM replicated) = 3")
	standby.Exec(t, "INSERT INTO replicated VALUES (3)")
}

func testRestart(t *testing.T, server *postgrestest.Server) {
	server.Exec(t, "CREATE TABLE numbers AS SELECT 1 AS n")
	addr := server.Addr()
	server.Kill()
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("a killed server accepts a connection")
	}
	server.Kill() // has no effect
	for range 2 { // when it does not run, and when it does
		server.Restart()
		if server.Addr() != addr {
			t.Errorf("the address is %s; want %s", server.Addr(), addr)
		}
		requireTrue(t, server, "(SELECT n FROM numbers) = 1")
	}
}
