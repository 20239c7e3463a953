package postgrestest_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
)

// told is a test that Fatalf ends by a panic.
type told struct{ testing.TB }

func (told) Helper() {}

func (told) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// holds asks the server whether a condition holds.
func holds(t *testing.T, server *postgrestest.Server, condition string) {
	t.Helper()
	server.Exec(t, "DO $$ BEGIN ASSERT "+condition+"; END $$")
}

func TestServer(t *testing.T) {
	place := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(place), 0o755), "other users must get through")
	t.Setenv("TMPDIR", place)
	t.Run("runs", func(t *testing.T) {
		server := postgrestest.Start(t, &postgrestest.Options{Args: []string{"-c", "max_connections=17"}})
		holds(t, server, "current_setting('max_connections') = '17'")
		t.Run("is unlike what programs rely on", func(t *testing.T) {
			holds(t, server, "'a' < 'B' AND 'B' < 'c'")
			holds(t, server, "current_setting('TimeZone') <> 'UTC'")
			holds(t, server, "DATE '2026-01-31' = '31/01/2026'")
		})
		t.Run("databases are new each time", func(t *testing.T) { databases(t, server) })
		t.Run("what goes wrong is told", func(t *testing.T) {
			require.PanicsWithValue(t, "postgrestest: SELECT 1/0: division by zero", func() { server.Exec(told{t}, "SELECT 1/0") })
		})
		t.Run("keeps what it has when it is killed", func(t *testing.T) { life(t, server) })
		t.Run("is frozen as a whole", func(t *testing.T) { freeze(t, server) })
		server.Freeze() // which must not keep it from ending
	})
	left, err := os.ReadDir(place)
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left behind")
}

func databases(t *testing.T, server *postgrestest.Server) {
	first, second := server.Database(t), server.Database(t)
	require.NotEqual(t, first, second)
	for _, address := range []string{first, second} {
		at, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, server.Addr, at.Host)
		require.Equal(t, "postgres", at.User.Username())
		holds(t, server, "EXISTS (SELECT FROM pg_database WHERE datname = '"+strings.TrimPrefix(at.Path, "/")+"')")
	}
}

func life(t *testing.T, server *postgrestest.Server) {
	server.Exec(t, "CREATE TABLE kept AS SELECT 1 AS n")
	addr := server.Addr
	server.Kill()
	_, err := net.Dial("tcp", addr)
	require.Error(t, err, "nobody listens")
	server.Kill() // does no harm
	server.Restart()
	require.Equal(t, addr, server.Addr)
	holds(t, server, "(SELECT n FROM kept) = 1")
	server.Restart()
	holds(t, server, "(SELECT n FROM kept) = 1")
}

// freeze sees to it that connections from before hang too.
func freeze(t *testing.T, server *postgrestest.Server) {
	done := make(chan struct{})
	server.Exec(t, "CREATE SEQUENCE counter")
	conn, err := net.Dial("tcp", server.Addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "\x00\x00\x00\x17\x00\x03\x00\x00user\x00postgres\x00\x00")
	require.NoError(t, err)
	one := make([]byte, 1)
	_, err = io.ReadFull(conn, one)
	require.NoError(t, err, "it is connected")

	server.Freeze()
	go func() {
		defer close(done)
		server.Exec(t, "SELECT nextval('counter')")
	}()
	_, err = io.WriteString(conn, "Q\x00\x00\x00\x0dSELECT 1\x00")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	for err == nil { // what it had said before
		_, err = conn.Read(one)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	select {
	case <-done:
		t.Error("a server that is frozen answers a new connection")
	default:
	}

	server.Thaw()
	<-done
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadFull(conn, one)
	require.NoError(t, err, "the question is answered after all")
	holds(t, server, "nextval('counter') = 2")
}
