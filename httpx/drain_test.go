package httpx_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

// unknownLength hides the length of a body, which is sent in chunks.
type unknownLength struct{ io.Reader }

// TestRefusedBody checks that an ordinary client, which sends its whole body before it reads, gets
// the response to a body that is refused, whichever middleware or handler refuses it.
func TestRefusedBody(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("POST /json", httpx.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := httpx.NewBody[string](&httpx.BodyOptions{MaxBytes: 1000}).Read(r)
		return err
	}))
	mux.Handle("POST /login", failing(httpx.Errorf(401, "log in first")))
	r := start(t, httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)})(httpx.Mux(mux)), nil)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, tc := range []struct {
		path   string
		size   int
		status int
	}{
		{"/json", 2 << 10, 413}, {"/json", 600 << 10, 413}, {"/json", 6 << 20, 413}, {"/login", 900 << 10, 401},
	} {
		document := []byte(`"` + strings.Repeat("x", tc.size) + `"`)
		for _, body := range []io.Reader{bytes.NewReader(document), unknownLength{bytes.NewReader(document)}} {
			response, err := client.Post(r.url+tc.path, "application/json", body)
			if err != nil {
				t.Errorf("%s with %d bytes: %v", tc.path, tc.size, err)
				continue
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != tc.status || err != nil || !strings.Contains(string(text), `"status":"error"`) {
				t.Errorf("%s with %d bytes: %d %s, %v; want %d", tc.path, tc.size, response.StatusCode, text, err, tc.status)
			}
		}
	}
}

// TestRefusedBodyOfPython does the same with the client of Python's standard library, which reads
// nothing before it has sent everything.
func TestRefusedBodyOfPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on this machine")
	}
	r := start(t, store(nil), nil)
	const program = `
import sys, http.client
for size in (1100 << 10, 2 << 20, 6 << 20):
    for _ in range(3):
        conn = http.client.HTTPConnection(sys.argv[1], timeout=30)
        conn.request("POST", "/", b"x" * size, {"Content-Type": "application/json"})
        print(conn.getresponse().status)
`
	out, err := exec.CommandContext(t.Context(), python, "-c", program, strings.TrimPrefix(r.url, "http://")).CombinedOutput()
	if want := strings.Repeat("413\n", 9); err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusedExpectation checks that a client that waits for 100 Continue is refused at once, and
// that one that was let in and then refused gets the response.
func TestRefusedExpectation(t *testing.T) {
	t.Parallel()
	refused := start(t, httpx.DrainBody(failing(httpx.Errorf(401, "log in first"))), nil)
	began := time.Now()
	response := dial(t, refused.url, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 20\r\n\r\n")
	if took := time.Since(began); !strings.HasPrefix(response, "HTTP/1.1 401 ") || took > patience {
		t.Errorf("after %v: %.100q, want 401", took, response)
	}
	r := start(t, store(nil), &httpx.ServeOptions{})
	began = time.Now()
	response = dial(t, r.url, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n")
	if took := time.Since(began); !strings.HasPrefix(response, "HTTP/1.1 413 ") || took > patience {
		t.Errorf("after %v: %.100q, want 413", took, response)
	}
	chunk := "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"
	parts := append([]string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"},
		slices.Repeat([]string{chunk}, 64)...)
	response = dial(t, r.url, append(parts, "0\r\n\r\n")...)
	if !strings.HasPrefix(response, "HTTP/1.1 100 ") || !strings.Contains(response, "HTTP/1.1 413 ") {
		t.Errorf("%.200q, want 100 and 413", response)
	}
}

// TestKeepAliveAfterRefusal checks that a connection with a body that was read can be used again.
func TestKeepAliveAfterRefusal(t *testing.T) {
	t.Parallel()
	r := start(t, store(nil), nil)
	conn := hold(t, r.url, "127.0.0.2",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"+
			"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 400 ") || !strings.HasSuffix(string(all), "\r\n\r\nok") {
		t.Errorf("%q, %v; want both responses", all, err)
	}
}
