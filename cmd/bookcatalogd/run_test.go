package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// output collects the standard error stream and sends the URL of the server to ready.
type output struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	ready chan string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, rest, ok := strings.Cut(string(p), "http://"); ok && o.buf.Len() == 0 {
		url, _, _ := strings.Cut(rest, "/api/books")
		o.ready <- "http://" + url
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// program is a server that runs in this process.
type program struct {
	url    string
	stderr *output
	stop   func() error // stops the server and returns its error
}

func start(t *testing.T, args ...string) program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := program{stderr: &output{ready: make(chan string, 1)}}
	done := make(chan error, 1)
	go func() { done <- run(ctx, cli.Env{Args: args, Stdout: io.Discard, Stderr: p.stderr}) }()
	p.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case p.url = <-p.stderr.ready:
	case err := <-done:
		done <- err
		t.Fatalf("the program did not start: %v", err)
	}
	return p
}

func (p program) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestSeedInMemory(t *testing.T) {
	t.Parallel()
	p := start(t, "-p", "0", "-seed")
	if status, body := p.do(t, "GET", "/api/books", ""); status != 200 || !strings.Contains(body, "Emma") || !strings.Contains(body, "Beowulf") {
		t.Errorf("GET /api/books: %d %s, want the sample books", status, body)
	}
	if status, _ := p.do(t, "POST", "/api/books", `{"title":"x","isbn":"44412"}`); status != 400 {
		t.Errorf("POST with an invalid ISBN: %d, want 400", status)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if got := p.stderr.String(); !strings.Contains(got, "books in memory") || !strings.Contains(got, "method=POST path=/api/books status=400") {
		t.Errorf("unexpected log: %s", got)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	first := start(t, "-addr", "127.0.0.1:0", "-db", path, "-lenient-isbn", "-seed")
	if status, body := first.do(t, "POST", "/api/books", `{"title":"Mine","isbn":"44412"}`); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, "-addr", "127.0.0.1:0", "-db", path, "-seed")
	if _, body := again.do(t, "GET", "/api/books", ""); !strings.Contains(body, "Mine") || strings.Count(body, `"id"`) != 4 {
		t.Errorf("after a restart: %s, want 4 books, one of them Mine", body)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tc := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-p", "x"}, 2, `-p: "x"`},
		{[]string{"-p", "70000"}, 2, "65535"},
		{[]string{"-p", "1", "-addr", ":1"}, 2, "use one of them"},
		{[]string{"-db", ""}, 2, "file, or memory"},
		{[]string{"-allowed-hosts", "https://x", "-p", "0"}, 2, "-allowed-hosts: host"},
		{[]string{"-allowed-origins", "x"}, 2, "-allowed-origins: origin"},
		{[]string{"-max-connections", "0"}, 2, "-max-connections: "},
		{[]string{"-trusted-proxies", "x"}, 2, "is not a network"},
		{[]string{"serve"}, 2, "no arguments"},
		{[]string{"-db", t.TempDir()}, 1, "-db: open "},
		{[]string{"-addr", taken.Addr().String()}, 1, "already in use"},
	} {
		var stderr bytes.Buffer
		code := cli.Run(t.Context(), "bookcatalogd", run, cli.Env{Args: tc.args, Stdout: io.Discard, Stderr: &stderr})
		if code != tc.code || !strings.Contains(stderr.String(), tc.stderr) {
			t.Errorf("%q: exit code %d, %q; want %d and %q", tc.args, code, &stderr, tc.code, tc.stderr)
		}
	}
}

// TestHosts checks that a web page of another name gets nothing, and that the operator can add names.
func TestHosts(t *testing.T) {
	t.Parallel()
	p := start(t, "-addr", "127.0.0.1:0", "-allowed-hosts", "books.example.com")
	for host, status := range map[string]int{"localhost": 200, "books.example.com:80": 200, "evil.example": 421} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/books", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%s: %d, want %d", host, response.StatusCode, status)
		}
	}
}

func TestDefaultPort(t *testing.T) {
	t.Parallel()
	for addr, args := range map[string]map[string]string{":8000": nil, ":9000": {"p": "9000"}, "[::1]:5": {"addr": "[::1]:5"}} {
		c := &config{}
		err := c.read(cli.Env{}, args)
		if err != nil || c.addr != addr || c.db != "memory" {
			t.Errorf("%v: %+v, %v; want the address %s", args, c, err, addr)
		}
	}
}
