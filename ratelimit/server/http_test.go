package server_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// do sends a request for a host to a listener, with headers as pairs.
func (r *running) do(method string, at net.Addr, path, host, body string, headers ...string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+at.String()+path, strings.NewReader(body))
	require.NoError(r.t, err)
	req.Host = host
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
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
			code, header, body := r.do("GET", at, path, "rebound.example", "", "Referer", "http://rebound.example/")
			require.Equal(t, http.StatusMisdirectedRequest, code, path)
			require.Contains(t, body, "ALLOWED_HOSTS", path)
			require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		}
		for _, host := range []string{"localhost", "127.0.0.1:9999", "limits.example:80", "a.internal.example", "limits.shop.svc:8080"} {
			code, header, _ := r.do("GET", at, paths[0], host, "")
			require.Equal(t, http.StatusOK, code, "%s for %s", paths[0], host)
			require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		}
	}
	r.end()
}

// Scripts and probes that use a name of the server that it does not know get a decision. A web page of that name gets
// none: what it sends has one of the headers that browsers add. The other pages and listeners are for known hosts only.
func TestDecisionsForAnyHost(t *testing.T) {
	const body = `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}]}]}`
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	for _, host := range []string{"limits.shop.svc.cluster.example:8080", "rebound.example"} {
		code, _, text := r.do("POST", r.addr.HTTP, "/json", host, body)
		require.Equal(t, http.StatusOK, code, text)
		code, _, text = r.do("GET", r.addr.HTTP, "/healthcheck", host, "")
		require.Equal(t, http.StatusOK, code, text)
		for _, header := range []string{"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode"} {
			code, _, text = r.do("POST", r.addr.HTTP, "/json", host, body, header, "http://"+host)
			require.Equal(t, http.StatusMisdirectedRequest, code, "%s: %s", header, text)
			code, _, text = r.do("GET", r.addr.HTTP, "/healthcheck", host, "", header, "http://"+host)
			require.Equal(t, http.StatusMisdirectedRequest, code, "%s: %s", header, text)
		}
		for _, path := range []string{"/", "/stats", "/rlconfig", "/json", "/healthcheck", "/console/"} {
			code, _, _ = r.do("GET", r.addr.Debug, path, host, "")
			require.Equal(t, http.StatusMisdirectedRequest, code, path)
		}
	}
	r.end()
}

// In a pod, the names of services below the domains of the cluster are known. Others that only look alike are not.
func TestKubernetesNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(file, []byte("nameserver 10.0.0.10\nsearch shop.svc.corp.example svc.corp.example corp.example. node.example\noptions ndots:5\n"), 0o600))
	hosts, err := httpx.NewHosts(&net.TCPAddr{}, &httpx.HostsOptions{Names: server.KubernetesNames(file)})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"limits.shop.svc": true, "limits.shop.svc:80": true, "limits.shop.svc.corp.example": true, "LIMITS.shop.svc.corp.example.:80": true,
		"pod-0.limits.shop.svc.corp.example": true, "limits.shop.svc.node.example": true,
		"limits.shop.svc.evil.example": false, "limits.shop.svc.corp.example.evil.example": false, "corp.example": false,
		"a.corp.example": false, "limits.svc.x.corp.example": false, "evilsvc.corp.example": false, "evil.example": false,
	} {
		require.Equal(t, want, hosts.Allowed(host), host)
	}
	require.Equal(t, []string{"*.svc"}, server.KubernetesNames(file+"x"))
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
