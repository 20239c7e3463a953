package fetch_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/fetch"
	"github.com/ashlar-go/ashlar/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is larger than all buffers.
var content = strings.Repeat("0123456789abcdef", 1<<16)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// fixture is a server with the options and the directory for downloads from it.
type fixture struct {
	*httptest.Server
	dir       string
	path      string
	opts      *fetch.Options
	requests  atomic.Int32
	lastRange atomic.Value // the Range of the last request
}

func newFixture(t *testing.T, handler http.HandlerFunc) *fixture {
	t.Helper()
	r := &fixture{dir: t.TempDir()}
	r.path = filepath.Join(r.dir, "w.mcpb")
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		r.lastRange.Store(req.Header.Get("Range"))
		handler(w, req)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report connections that tests drop
	r.StartTLS()
	t.Cleanup(r.Close)
	r.opts = &fetch.Options{AllowPrivate: true, Wait: time.Millisecond, TLS: r.Client().Transport.(*http.Transport).TLSClientConfig}
	return r
}

// serve sends the content and supports ranges.
func serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

func (r *fixture) get(t *testing.T, sum string) error {
	t.Helper()
	return fetch.Download(t.Context(), manifest.File{URL: r.URL + "/f", SHA256: sum}, r.path, r.opts)
}

// files returns the names in the directory.
func (r *fixture) files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(r.dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (r *fixture) requireContent(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(r.path)
	require.NoError(t, err)
	require.True(t, string(data) == content, "the file has other content")
	require.Equal(t, []string{"w.mcpb"}, r.files(t))
}

// cut sends n bytes of the whole and then drops the connection.
func cut(w http.ResponseWriter, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write([]byte(content[:n]))
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestDownload(t *testing.T) {
	t.Parallel()
	r := newFixture(t, serve)
	var calls int
	var last, total int64
	r.opts.Progress = func(d, n int64) {
		assert.GreaterOrEqual(t, d, last)
		calls, last, total = calls+1, d, n
	}
	require.NoError(t, r.get(t, sumOf(content)))
	r.requireContent(t)
	require.EqualValues(t, len(content), last)
	require.EqualValues(t, len(content), total)
	require.Greater(t, calls, 2)

	require.NoError(t, r.get(t, sumOf(content)))
	require.EqualValues(t, 1, r.requests.Load(), "an installed file is not requested again")
	require.NoError(t, os.WriteFile(r.path, []byte("another"), 0o600))
	last = 0
	require.NoError(t, r.get(t, sumOf(content)))
	r.requireContent(t)
}

func TestWrongSumLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newFixture(t, serve)
	err := r.get(t, sumOf("another"))
	var wrong *fetch.SumError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, sumOf(content), wrong.Got)
	require.Empty(t, r.files(t))
	require.EqualValues(t, 1, r.requests.Load(), "no further request")

	require.NoError(t, os.WriteFile(r.path, []byte("old"), 0o600))
	require.Error(t, r.get(t, sumOf("another")))
	require.Equal(t, []string{"w.mcpb"}, r.files(t), "the previous file stays")
}

func TestResumeWithinOneCall(t *testing.T) {
	t.Parallel()
	var r *fixture
	r = newFixture(t, func(w http.ResponseWriter, req *http.Request) {
		if r.requests.Load() == 1 {
			cut(w, 300_000)
		}
		serve(w, req)
	})
	require.NoError(t, r.get(t, sumOf(content)))
	r.requireContent(t)
	require.NotEmpty(t, r.lastRange.Load(), "the second request requests for the rest only")
}

func TestResumeInTheNextCall(t *testing.T) {
	t.Parallel()
	var r *fixture
	r = newFixture(t, func(w http.ResponseWriter, req *http.Request) {
		if r.requests.Load() == 1 {
			cut(w, 300_000)
		}
		serve(w, req)
	})
	r.opts.Attempts = 1
	require.Error(t, r.get(t, sumOf(content)))
	require.Len(t, r.files(t), 1, "the received bytes stay on the disk")
	require.NoFileExists(t, r.path)
	require.NoError(t, r.get(t, sumOf(content)))
	r.requireContent(t)
	require.Contains(t, r.lastRange.Load(), "bytes=")
}

// part creates the partial file of an earlier call.
func (r *fixture) part(t *testing.T, sum, text string) string {
	t.Helper()
	name := filepath.Join(r.dir, ".w.mcpb."+sum[:16]+".part")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestPartialFiles starts with partial files of another file, of this file with more bytes, and of
// the complete file.
func TestPartialFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"another": strings.Repeat("x", 1000), "longer": content + "x", "complete": content, "as long": strings.Repeat("x", len(content)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, serve)
			r.part(t, sumOf(content), text)
			require.NoError(t, r.get(t, sumOf(content)))
			r.requireContent(t)
		})
	}
}

// TestWrongSumOfTheWhole checks that a wrong file that the server sent from the beginning is not
// downloaded twice because of an earlier partial file.
func TestWrongSumOfTheWhole(t *testing.T) {
	t.Parallel()
	r := newFixture(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) })
	r.part(t, sumOf("another"), content[:1000])
	var wrong *fetch.SumError
	require.ErrorAs(t, r.get(t, sumOf("another")), &wrong)
	require.EqualValues(t, 1, r.requests.Load())
	require.Empty(t, r.files(t))
}

// TestServersWithoutRanges uses servers that ignore Range or send another part.
func TestServersWithoutRanges(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"whole": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) },
		"other part": func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(content)-1, len(content)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write([]byte(content[5:]))
				return
			}
			serve(w, req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, handler)
			r.part(t, sumOf(content), content[:1000])
			require.NoError(t, r.get(t, sumOf(content)))
			r.requireContent(t)
		})
	}
}

// TestTooLarge checks the limit with and without a Content-Length.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"with length": serve,
		"without length": func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write([]byte(content[:10_000]))
				w.(http.Flusher).Flush()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, handler)
			r.opts.MaxBytes = 500_000
			if name == "with length" {
				r.opts.Progress = func(int64, int64) { t.Error("a file with a known length over the limit is read") }
			}
			var refused *fetch.RefusedError
			require.ErrorAs(t, r.get(t, sumOf(content)), &refused)
			require.Contains(t, refused.Error(), "larger than 500000 bytes")
			require.Empty(t, r.files(t))
		})
	}
	r := newFixture(t, serve)
	r.opts.MaxBytes = int64(len(content))
	require.NoError(t, r.get(t, sumOf(content)), "a file of exactly the limit is allowed")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for code, requests := range map[int]int{404: 1, 403: 1, 500: 3, 503: 3, 429: 3, 206: 3, 416: 1, 204: 1} {
		r := newFixture(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		err := r.get(t, sumOf(content))
		require.Error(t, err)
		if status, ok := errors.AsType[*fetch.StatusError](err); code != 206 {
			require.True(t, ok, "%d: %v", code, err)
			require.Equal(t, code, status.Code)
		}
		require.EqualValues(t, requests, r.requests.Load(), code)
		require.Empty(t, r.files(t))
	}
}

// TestRefusedURLs checks that no request is sent.
func TestRefusedURLs(t *testing.T) {
	t.Parallel()
	for url, why := range map[string]string{
		"http://e.com/f":                      "it is http",
		"ftp://e.com/f":                       "neither https nor http",
		"file:///etc/passwd":                  "not the URL",
		"":                                    "not the URL",
		"https://127.0.0.1:1/f":               "this machine",
		"https://localhost:1/f":               "this machine",
		"https://[::1]:1/f":                   "this machine",
		"https://10.1.2.3/f":                  "a private network",
		"https://169.254.1.1/f":               "a private network",
		"https://100.64.0.1/f":                "reserved range",
		"https://0.0.0.0:1/f":                 "this machine",
		"https://[::ffff:127.0.0.1]:1/f":      "this machine",
		"https://[64:ff9b::7f00:1]/f":         "reserved range",
		"https://[fd00::1]/f":                 "private network",
		"https://user:hunter2@127.0.0.1:1/f?": "this machine",
	} {
		err := fetch.Download(t.Context(), manifest.File{URL: url, SHA256: sumOf("")}, filepath.Join(t.TempDir(), "f"), nil)
		if errors.Is(err, syscall.EAFNOSUPPORT) {
			continue // this machine has no IPv6, so that no connection is attempted
		}
		var refused *fetch.RefusedError
		require.ErrorAs(t, err, &refused, url)
		require.Contains(t, err.Error(), why)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(serve))
	defer plain.Close()
	var referers atomic.Int32
	r := newFixture(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Referer") != "" {
			referers.Add(1)
		}
		switch req.URL.Path {
		case "/f":
			http.Redirect(w, req, "/g?key=hunter2", http.StatusFound)
		case "/g":
			http.Redirect(w, req, "/h", http.StatusMovedPermanently)
		case "/h":
			serve(w, req)
		case "/loop":
			http.Redirect(w, req, "/loop", http.StatusFound)
		case "/plain":
			http.Redirect(w, req, plain.URL, http.StatusFound)
		case "/file":
			http.Redirect(w, req, "file:///etc/passwd", http.StatusFound)
		}
	})
	require.NoError(t, r.get(t, sumOf(content)))
	require.Zero(t, referers.Load(), "the URL of one server is not sent to another")

	r.opts.AllowHTTP = true
	for path, why := range map[string]string{"/loop": "at most 5", "/plain": "comes from https", "/file": "refused"} {
		err := fetch.Download(t.Context(), manifest.File{URL: r.URL + path, SHA256: sumOf("x")}, r.path+".2", r.opts)
		var refused *fetch.RefusedError
		require.ErrorAs(t, err, &refused, path)
		require.Contains(t, err.Error(), why)
	}
	require.NoError(t, fetch.Download(t.Context(), manifest.File{URL: plain.URL, SHA256: sumOf(content)}, r.path+".3", r.opts), "http works if it is allowed")
}

// TestPrivateAddress checks that no connection to a private address is made.
func TestPrivateAddress(t *testing.T) {
	t.Parallel()
	r := newFixture(t, serve)
	r.opts.AllowPrivate = false
	require.ErrorContains(t, r.get(t, sumOf(content)), "this machine")
	require.Zero(t, r.requests.Load())
}

func TestStalledServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(content[:1000]))
		w.(http.Flusher).Flush()
		<-release
	})
	defer close(release)
	r.opts.Stall, r.opts.Attempts = 50*time.Millisecond, 2
	require.ErrorContains(t, r.get(t, sumOf(content)), "sent nothing for 50ms")
}

// TestCancel checks that a canceled call returns and keeps the received bytes.
func TestCancel(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(content[:200_000]))
		w.(http.Flusher).Flush()
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("canceled by the test")
	r.opts.Progress = func(done, _ int64) {
		if done > 0 {
			cancel(reason)
		}
	}
	err := fetch.Download(ctx, manifest.File{URL: r.URL, SHA256: sumOf(content)}, r.path, r.opts)
	require.ErrorIs(t, err, reason)
	require.Len(t, r.files(t), 1)
	require.NoFileExists(t, r.path)
}

// TestTwoCalls checks that a call does not change what another one has verified, even if a server
// sends something else.
func TestTwoCalls(t *testing.T) {
	t.Parallel()
	begun, installed := make(chan struct{}), make(chan struct{})
	var r *fixture
	r = newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		if r.requests.Load() > 1 {
			_, _ = w.Write([]byte(content))
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write([]byte(content[:10]))
		w.(http.Flusher).Flush()
		close(begun)
		<-installed
		_, _ = w.Write([]byte(strings.Repeat("evil", len(content)/4)[10:]))
	})
	slow := make(chan error, 1)
	go func() {
		slow <- fetch.Download(context.Background(), manifest.File{URL: r.URL, SHA256: sumOf(content)}, r.path, r.opts)
	}()
	<-begun
	err := r.get(t, sumOf(content))
	close(installed)
	require.NoError(t, err)
	var wrong *fetch.SumError
	require.ErrorAs(t, <-slow, &wrong)
	r.requireContent(t)
}

// TestPartOfAnotherCall empties the partial file while it is downloaded, as another call does that begins.
func TestPartOfAnotherCall(t *testing.T) {
	t.Parallel()
	for times, ok := range map[int32]bool{1: true, 1000: false} {
		r := newFixture(t, serve)
		r.opts.Progress = func(done, total int64) {
			if done == total && r.requests.Load() <= times {
				require.NoError(t, os.Truncate(filepath.Join(r.dir, ".w.mcpb."+sumOf(content)[:16]+".part"), 0))
			}
		}
		err := r.get(t, sumOf(content))
		if ok {
			require.NoError(t, err)
			r.requireContent(t)
			continue
		}
		require.Error(t, err)
		_, wrong := errors.AsType[*fetch.SumError](err)
		require.False(t, wrong, err)
	}
}

// TestLinksAreNotFollowed replaces the hidden file by a link.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	r := newFixture(t, serve)
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(r.dir, ".w.mcpb."+sumOf(content)[:16]+".part")))
	require.ErrorContains(t, r.get(t, sumOf(content)), "regular file")
	data, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, sum := range []string{"", strings.Repeat("0", 63), strings.Repeat("A", 64), strings.Repeat("g", 64)} {
		require.ErrorContains(t, fetch.Download(t.Context(), manifest.File{URL: "https://e.com", SHA256: sum}, "f", nil), "SHA-256")
	}
	r := newFixture(t, serve)
	r.path = filepath.Join(r.dir, "nowhere", "f")
	require.ErrorIs(t, r.get(t, sumOf(content)), os.ErrNotExist)
	require.Zero(t, r.requests.Load())
}

// TestCertificates checks that an untrusted certificate is an error, and that the error does not
// have the query of the URL.
func TestCertificates(t *testing.T) {
	t.Parallel()
	r := newFixture(t, serve)
	r.opts.TLS, r.opts.Attempts = &tls.Config{}, 1
	err := fetch.Download(t.Context(), manifest.File{URL: r.URL + "/f?key=hunter2", SHA256: sumOf(content)}, r.path, r.opts)
	require.ErrorContains(t, err, "certificate")
	require.NotContains(t, err.Error(), "hunter2")
	require.Empty(t, r.files(t))
}
