//go:build linux && !race

package attack_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// smuggling are requests whose end a proxy and a server may see in different places. %s is the path of a request that
// one of the two may take the rest for.
var smuggling = map[string]string{
	"CL.TE":                   "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"TE.CL":                   "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n30\r\nGET %s HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n\r\n0\r\n\r\n",
	"two lengths":             "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 50\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a list of lengths":       "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 50\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a signed length":         "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: +0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a length of 2^64":        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"an empty length":         "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a blank before a colon":  "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length : 50\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a folded encoding":       "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"an unknown encoding":     "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"two encodings":           "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"an encoding of HTTP/1.0": "POST /x HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a tab in an encoding":    "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a bare LF":               "POST /x HTTP/1.1\r\nHost: h\r\nX: a\nTransfer-Encoding: chunked\r\nContent-Length: 50\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a bare CR":               "POST /x HTTP/1.1\r\nHost: h\r\nX: a\rTransfer-Encoding: chunked\r\nContent-Length: 50\r\n\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"an LF in a chunk":        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"a long chunk size":       "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n100000000000000000\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n0\r\n\r\n",
	"a body of a GET":         "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
	"an upgrade":              "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\nGET %s HTTP/1.1\r\nHost: h\r\n\r\n",
}

// TestSmuggling sends such requests to inventoryd through HAProxy, which sends those of all clients over the same
// connections: the server must see no request that HAProxy has not seen, and a client after them gets its own response.
// The operator sees the requests, refused ones included, in the logs of both.
func TestSmuggling(t *testing.T) {
	haproxy := "haproxy"
	if _, err := os.Stat("/usr/sbin/haproxy"); err == nil {
		haproxy = "/usr/sbin/haproxy"
	}
	servertest.Find(t, haproxy)
	dir, err := servertest.Build("../../..", nil, "./cmd/inventoryd")
	require.NoError(t, err)
	healthy := func(ctx context.Context, addr string) error {
		_, err := send(ctx, "GET", "http://"+addr+"/healthz", "")
		return err
	}
	logged := func(name string) (*os.File, func() string) {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f, func() string {
			text, err := os.ReadFile(f.Name())
			require.NoError(t, err)
			return string(text)
		}
	}
	ofServer, serverLog := logged("server")
	server := servertest.StartWith(t, filepath.Join(dir, "inventoryd"), func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} }, healthy,
		func(cmd *exec.Cmd) {
			cmd.Stdout, cmd.Stderr = ofServer, ofServer
			cmd.Env = append(os.Environ(), "DATABASE_URL="+filepath.Join(t.TempDir(), "inventory.db"), "ADMIN_PASSWORD=correct horse 9", "ALLOWED_HOSTS=h", "RATE_LIMIT=0", "LOG_LEVEL=info")
		})
	ofProxy, proxyLog := logged("proxy")
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	proxy := servertest.StartWith(t, haproxy, func(port string) []string {
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `global
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  option accept-invalid-http-request
  http-reuse always
  timeout connect 2s
  timeout client 1s
  timeout server 2s
listen inventory
  bind 127.0.0.1:%s
  server one %s
`, port, server.Addr), 0o600))
		return []string{"-f", config, "-db"}
	}, healthy, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = ofProxy, ofProxy })

	n := 0
	for name, text := range smuggling {
		for range 2 { // on new connections, and on used ones
			n++
			conn, err := net.Dial("tcp", proxy.Addr)
			require.NoError(t, err)
			_, err = io.WriteString(conn, strings.Replace(text, "%s", fmt.Sprintf("/smuggled-%d", n), 1))
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			_, _ = io.Copy(io.Discard, conn)
			require.NoError(t, conn.Close())
			own := fmt.Sprintf("/own-%d", n)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+proxy.Addr+own, http.NoBody)
			require.NoError(t, err)
			r.Header.Set("X-Request-ID", own[1:])
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err, name)
			require.NoError(t, response.Body.Close())
			require.Equal(t, own[1:], response.Header.Get("X-Request-ID"), "after %s a client gets the response of another", name)
		}
	}
	found := regexp.MustCompile(`path=/(smuggled-\d+)`).FindAllStringSubmatch(serverLog(), -1)
	for _, path := range found {
		logged := func() bool { return strings.Contains(proxyLog(), " /"+path[1]+" ") } // when its client has gone
		require.Eventually(t, logged, 5*time.Second, 10*time.Millisecond, "the server sees a request that HAProxy has not: %s", path[1])
	}
	require.Equal(t, n, strings.Count(serverLog(), "path=/own-"), "every client is served")
	t.Logf("%d requests, of which %d were two for both", n, len(found))
}
