package postgrestest

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// Pooler runs a PgBouncer in transaction mode in front of the server until the test ends, and returns the URL of a
// database through it. Settings such as default_pool_size=5 take precedence over those of this package.
func (s *Server) Pooler(t testing.TB, database string, settings ...string) (address string) {
	t.Helper()
	program := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		program = servertest.Find(t, "pgbouncer")
	}
	u, err := url.Parse(database)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "pgbouncer") // the user of the process may not enter t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	asOwner := runAs(t, dir)
	file := filepath.Join(dir, "pgbouncer.ini")
	process := servertest.StartWith(t, program, func(listen string) []string {
		text := "[databases]\n* = host=" + host + " port=" + port + "\n[pgbouncer]\n" + strings.Join(append([]string{
			"listen_addr=127.0.0.1", "listen_port=" + listen, "unix_socket_dir=", "auth_type=any", "pool_mode=transaction",
			"default_pool_size=10", "max_client_conn=500",
		}, settings...), "\n") + "\n"
		// auth_type=any needs the user of the server in the line of the database.
		text = strings.Replace(text, "* = ", strings.TrimPrefix(u.Path, "/")+" = user="+u.User.Username()+" ", 1)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) // #nosec G306 -- read by the user of the process
		return []string{file}
	}, func(ctx context.Context, addr string) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	}, func(cmd *exec.Cmd) {
		cmd.Dir = dir
		asOwner(cmd)
	})
	u.Host = process.Addr
	return u.String()
}
