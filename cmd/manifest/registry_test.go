package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

const forecast = `{"name":"com.example/forecast","description":"Weather","version":"1.0.0","packages":[{"registryType":"NPM","identifier":"forecast","version":"^1.2.0","transport":{"type":"stdio"}}]}`

// startRegistry serves made-up servers and com.example/forecast, which is not valid. before is called with each request.
func startRegistry(t *testing.T, before func(r *http.Request)) *httptest.Server {
	t.Helper()
	store := registry.NewMemStore(nil)
	broken, err := registry.NewEntry([]byte(forecast))
	require.NoError(t, err)
	broken.Publish(registrytest.Start())
	require.NoError(t, store.Mirrored(t.Context(), append(registrytest.Entries(500, 2), *broken), nil))
	h := registry.NewHandler(store, &registry.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before(r)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestFrom reads manifests from a registry and from files with its responses.
func TestFrom(t *testing.T) {
	server := startRegistry(t, nil)
	name := registrytest.Entries(1, 1)[0].Name
	code, out, errs := execute(t, "", "resolve", name, "-from", server.URL, "-set", "--directory=/data", "-set", "API_KEY=hunter2")
	require.Zero(t, code, errs)
	require.Contains(t, out, "@example/server-0@1.1.0")
	code, out, errs = execute(t, "", "resolve", name+"@1.0.0", "-from", server.URL+"/v0", "-set", "--directory=/data", "-set", "API_KEY=hunter2")
	require.Zero(t, code, errs)
	require.Contains(t, out, "@example/server-0@1.0.0")
	code, out, errs = execute(t, "", "client", "-for", "vscode", "-dry-run", "-from", server.URL, name+"@1.0.0", "-set", "directory=/data")
	require.Zero(t, code, errs)
	require.Contains(t, out, "@example/server-0@1.0.0")
	code, out, errs = execute(t, "", "__complete", "client", "--from="+server.URL, "com.example/fore")
	require.Zero(t, code, errs)
	require.Contains(t, out, "com.example/forecast\n")
	code, out, _ = execute(t, "", "validate", name, "com.example/forecast@1.0.0", "-from", server.URL)
	require.Equal(t, 1, code)
	require.Contains(t, out, `com.example/forecast@1.0.0:9:`)
	require.Contains(t, out, "2 manifests: 1 error, 1 warning")
	code, out, _ = execute(t, "", "fix", "-n", "com.example/forecast", "-from", server.URL)
	require.Zero(t, code)
	require.Contains(t, out, `+      "registryType": "npm"`)
	code, out, errs = execute(t, "", "diff", "-from", server.URL, name+"@1.0.0", name)
	require.Equal(t, 11, code, errs)
	require.Contains(t, out, "1.1.0")
	code, out, errs = execute(t, strings.Replace(forecast, "^", "", 1), "diff", "-from", server.URL, name, "-")
	require.Equal(t, 16, code, "%s%s", out, errs)
	code, _, errs = execute(t, "", "fetch", "-from", server.URL, name)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "registryType mcpb")
	for want, args := range map[string][]string{
		"use -n":              {"fix", "com.example/forecast", "-from", server.URL},
		"404":                 {"validate", "com.example/none", "-from", server.URL},
		"invalid registry":    {"validate", "com.example/none", "-from", "example.com"},
		"name a server":       {"validate", "-from", server.URL},
		"-to is missing":      {"mirror", server.URL},
		"name one registry":   {"mirror", "-to", "x.db"},
		"names 2 manifests":   {"resolve", "answer.json"},
		"serve it alone":      {"serve", "answer.json", "some.db"},
		"name files":          {"serve"},
		"need -tokens":        {"serve", "-publish", "new.db"},
		"add -publish":        {"serve", "-tokens", "some.db", "answer.json"},
		"file of a registry":  {"serve", "-publish", "-tokens", "tokens", "answer.json"},
		"invalid namespace":   {"serve", "-publish", "-tokens", "bad", "new.db"},
		"has no tokens":       {"serve", "-private", "-tokens", "empty", "answer.json"},
		"is not JSON":         {"serve", "text.json"},
		"not a database":      {"serve", "some.db"},
		"is the response of ": {"fix", "answer.json"},
	} {
		t.Chdir(t.TempDir())
		require.NoError(t, os.WriteFile("answer.json", []byte(`{"servers":[{"server":`+forecast+`,"_meta":{}},{"server":{"name":7}}]}`), 0o600))
		require.NoError(t, os.WriteFile("some.db", []byte("SQLite format 3\x00"), 0o600))
		require.NoError(t, os.WriteFile("tokens", []byte("token-0123456789 a.b\n"), 0o600))
		require.NoError(t, os.WriteFile("bad", []byte("token-0123456789 a/b/c\n"), 0o600))
		require.NoError(t, os.WriteFile("empty", []byte("# none\n"), 0o600))
		require.NoError(t, os.WriteFile("text.json", []byte("text"), 0o600))
		code, out, errs := execute(t, "", args...)
		assert.NotZero(t, code, args)
		assert.Contains(t, out+errs, want, args)
	}
	code, out, _ = execute(t, `{"server":`+forecast+`,"_meta":{}}`, "validate", "-")
	require.Equal(t, 1, code)
	require.Contains(t, out, "#0 (com.example/forecast@1.0.0):9:")
	code, out, _ = execute(t, "", "validate", "answer.json")
	require.Equal(t, 1, code)
	require.Contains(t, out, "answer.json#1 (7@<nil>)")
}

// TestRedirects: a registry leads nobody into the private network. The error names the address, and the exit code is 1.
func TestRedirects(t *testing.T) {
	var reached atomic.Int64
	private := startRegistry(t, func(*http.Request) { reached.Add(1) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, private.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for _, args := range [][]string{
		{"mirror", server.URL, "-to", filepath.Join(t.TempDir(), "mirror.db")}, {"validate", "-from", server.URL, "com.example/forecast"},
	} {
		code, _, errs := execute(t, "", args...)
		require.NotZero(t, code, args)
		require.Contains(t, errs, strings.TrimPrefix(private.URL, "http://")+" is refused", args)
	}
	require.Zero(t, reached.Load(), "the private address was asked")
}

// firstLine passes on what is written, and the URL in its first line.
type firstLine struct {
	url  chan string
	text bytes.Buffer
	sent bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	n, err := f.text.Write(p)
	if _, rest, found := strings.Cut(f.text.String(), "http://"); found && !f.sent {
		f.sent = true
		address, _, _ := strings.Cut(rest, "/")
		f.url <- "http://" + address
	}
	return n, err
}

// serve runs manifest serve until the test ends, and returns its URL.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	out, ended := &firstLine{url: make(chan string, 1)}, make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		env := cli.Env{Args: append([]string{"serve", "-addr", "127.0.0.1:0"}, args...), Stdout: out, Stderr: io.Discard}
		ended <- cli.Run(ctx, "manifest", run, env)
	}()
	t.Cleanup(func() {
		stop()
		require.Zero(t, <-ended)
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case url := <-out.url:
		return url
	case code := <-ended:
		t.Fatalf("the program ended with %d", code)
		return ""
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode, "%s: %s", url, body)
	return string(body)
}

// TestServe serves files of all kinds, and a mirror.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "repository"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "repository", "server.json"), []byte(forecast), 0o600))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, e := range registrytest.Entries(3, 1) {
		_, err := w.Write(append(e.Server, '\n'))
		require.NoError(t, err)
	}
	_, err := w.Write([]byte(`{"description":"neither name nor version"}`))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "many.ndjson.gz"), packed.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page.json"), []byte(`{"servers":[{"server":{"name":"a.b/c","version":"1"},"_meta":{}}]}`), 0o600))
	url := serve(t, filepath.Join(dir, "repository"), filepath.Join(dir, "many.ndjson.gz"), filepath.Join(dir, "page.json"))
	require.Contains(t, get(t, url+"/v0.1/servers"), `"count":5`)
	require.Contains(t, get(t, url+"/v0/servers/com.example%2Fforecast/versions/latest"), `"isLatest":true`)
	require.Contains(t, get(t, url+"/"), "com.example/forecast")
	require.Contains(t, get(t, url+"/docs/"), "openapi.json")

	file := filepath.Join(dir, "mirror.db")
	code, out, errs := execute(t, "", "mirror", url, "-to", file)
	require.Zero(t, code, errs)
	require.Contains(t, out, "5 versions read (all versions): 0 deleted")
	copied := serve(t, file)
	require.Equal(t, get(t, url+"/v0.1/servers"), get(t, copied+"/v0.1/servers"))
	code, out, errs = execute(t, "", "mirror", "-to", file, url)
	require.Zero(t, code, errs)
	require.Contains(t, out, "what changed since")
}

// asChild is an environment variable that makes a test run the program, with the arguments in it.
const asChild = "MANIFEST_TEST_AS_PROGRAM"

func TestAsProgram(t *testing.T) {
	args := os.Getenv(asChild)
	if args == "" {
		t.Skip("this is the program that TestKilledMirror starts")
	}
	env := cli.Env{Args: strings.Split(args, "|"), Stdout: io.Discard, Stderr: os.Stderr}
	os.Exit(cli.Run(t.Context(), "manifest", run, env))
}

// TestKilledMirror kills a mirror while it reads a page, several times, and runs it to its end.
func TestKilledMirror(t *testing.T) {
	const pages = 11 // of 100 versions
	file := filepath.Join(t.TempDir(), "mirror.db")
	var requests atomic.Int64
	var killAt atomic.Int64
	kill := make(chan struct{}, 1)
	server := startRegistry(t, func(r *http.Request) {
		if requests.Add(1) == killAt.Load() {
			kill <- struct{}{}
			<-r.Context().Done()
		}
	})
	for range 3 {
		killAt.Store(requests.Load() + 3)
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsProgram$")
		child.Env = append(os.Environ(), asChild+"=mirror|-to|"+file+"|"+server.URL)
		require.NoError(t, child.Start())
		<-kill
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
	store, err := sqlite.Open(t.Context(), file)
	require.NoError(t, err)
	some, err := store.List(t.Context(), &registry.Query{Limit: 2000})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Len(t, some, 600, "each run has stored two pages")
	before := requests.Load()
	code, out, errs := execute(t, "", "mirror", server.URL, "-to", file)
	require.Zero(t, code, errs)
	require.Contains(t, out, "401 versions read")
	require.EqualValues(t, pages-6, requests.Load()-before, "no page is read twice")
	url := serve(t, file)
	require.Equal(t, get(t, server.URL+"/v0.1/servers?limit=100"), get(t, url+"/v0.1/servers?limit=100"))
}
