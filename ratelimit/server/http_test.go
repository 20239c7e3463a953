package server_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// do sends a request for a host to a listener.
func (r *running) do(method string, at net.Addr, path, host, body string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+at.String()+path, strings.NewReader(body))
	require.NoError(r.t, err)
	if req.Host = host; body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return res.StatusCode, res.Header, string(text)
}

// A web page can make the browser of an operator send requests to a name of its own that
// resolves to the server's address. Every listener refuses them, on every path.
func TestHosts(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"USE_SCRAPE": "true", "DISABLE_STATS": "false", "USE_PUSHSTATS": "false", "SCRAPE_ADDR": "127.0.0.1:0",
		"ALLOWED_HOSTS": "limits.example,*.internal.example",
	}).start()
	for at, paths := range map[net.Addr][]string{
		r.addr.HTTP:   {"/healthcheck", "/json", "//json", "/elsewhere", "/a/../healthcheck"},
		r.addr.Debug:  {"/", "/stats", "/rlconfig", "/debug/pprof/heap", "//stats"},
		r.addr.Scrape: {"/metrics", "/elsewhere"},
	} {
		for _, path := range paths {
			code, header, body := r.do("GET", at, path, "rebound.example", "")
			require.Equal(t, http.StatusMisdirectedRequest, code, path)
			require.Contains(t, body, "ALLOWED_HOSTS", path)
			require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		}
		for _, host := range []string{"localhost", "127.0.0.1:9999", "limits.example:80", "a.internal.example"} {
			code, header, _ := r.do("GET", at, paths[0], host, "")
			require.Equal(t, http.StatusOK, code, "%s for %s", paths[0], host)
			require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		}
	}
	r.end()
}

// /json can't check certificates, so it is refused where gRPC clients need one.
func TestJSONBesideClientCertificates(t *testing.T) {
	const body = `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}]}]}`
	s := secure(t)
	code, _, text := s.do("POST", s.addr.HTTP, "/json", "localhost", body)
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, text, "JSON_WITHOUT_CLIENT_CERTIFICATE=true")
	code, _ = s.get("/healthcheck")
	require.Equal(t, http.StatusOK, code)
	s.end()

	s.set.JSONWithoutCertificate = true
	s.start()
	code, _, _ = s.do("POST", s.addr.HTTP, "/json", "localhost", body)
	require.Equal(t, http.StatusOK, code)
	s.end()
}
