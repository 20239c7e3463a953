package httpx_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

// request is one with headers, given as name, value, name, value.
func request(method, target, body string, headers ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// text is a handler that responses with a text.
func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
}

// failing is a handler that fails.
func failing(err error) http.Handler {
	return httpx.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return err })
}

// errorOf is the error body of a response, which must have the status.
func errorOf(t *testing.T, w *httptest.ResponseRecorder, status int) httpx.ErrorBody {
	t.Helper()
	var body httpx.ErrorBody
	if w.Code != status || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %q, want %d and JSON", w.Code, w.Header().Get("Content-Type"), w.Body, status)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Status != "error" || body.Message == "" {
		t.Errorf("the body %q is no error (%v)", w.Body, err)
	}
	return body
}

// want compares a header.
func want(t *testing.T, h http.Header, name, value string) {
	t.Helper()
	if got := strings.Join(h.Values(name), "|"); got != value {
		t.Errorf("%s is %q, want %q", name, got, value)
	}
}

// logTo is a logger that writes lines of text without the time.
func logTo(b *bytes.Buffer) *slog.Logger {
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: drop}))
}

func unzip(t *testing.T, body io.Reader) string {
	t.Helper()
	zip, err := gzip.NewReader(body)
	if err != nil {
		t.Fatalf("the body is not compressed: %v", err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatalf("the body is cut off: %v", err)
	}
	return string(plain)
}
