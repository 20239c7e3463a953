package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// StartProxy runs a twemproxy, whose program is nutcracker, in front of servers until the test
// ends. It distributes keys over them.
func StartProxy(t testing.TB, servers ...*Server) *servertest.Process {
	t.Helper()
	servertest.Find(t, "nutcracker") // skips the test before it creates files
	dir := directory(t)
	var list strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&list, "  - %s:1\n", s.Addr)
	}
	return servertest.Start(t, "nutcracker", func(port string) []string {
		config := filepath.Join(dir, "proxy.yaml")
		check(t, os.WriteFile(config, fmt.Appendf(nil, `pool:
  listen: 127.0.0.1:%s
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
%s`, port, list.String()), 0o600))
		return []string{
			"--conf-file", config, "--pid-file", filepath.Join(dir, "pid"), "--output", filepath.Join(dir, "log"),
			"--stats-addr", "127.0.0.1", "--stats-port", servertest.FreePort(t),
		}
	}, func(ctx context.Context, addr string) error {
		// The client would send HELLO, on which the proxy closes the connection.
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if _, err := io.WriteString(conn, "*2\r\n$3\r\nGET\r\n$5\r\nready\r\n"); err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && line != "$-1\r\n" {
			err = fmt.Errorf("it replied %q", line)
		}
		return err
	})
}
