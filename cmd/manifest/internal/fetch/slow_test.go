package fetch_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/fetch"
	"github.com/ashlar-go/ashlar/manifest"
)

// slow is a server without a network that sends single bytes.
type slow struct {
	every time.Duration
	bytes int // then the end; if negative, the server sends nothing
	ctx   context.Context
}

func (s *slow) RoundTrip(req *http.Request) (*http.Response, error) {
	body := &slow{s.every, s.bytes, req.Context()}
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: body, Request: req}, nil
}

func (s *slow) Read(p []byte) (int, error) {
	if s.bytes == 0 {
		return 0, io.EOF
	}
	wait := time.After(s.every)
	if s.bytes < 0 {
		wait = nil
	}
	select {
	case <-wait:
		s.bytes--
		p[0] = 'x'
		return 1, nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

func (s *slow) Close() error { return nil }

// TestSlowServer checks that a slow server is not stalled, however long it takes.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := fetch.Download(t.Context(), manifest.File{URL: "https://e.com/f", SHA256: sumOf("xxxxxxxxxx")}, path, &fetch.Options{Transport: &slow{every: 29 * time.Second, bytes: 10}})
		require.NoError(t, err)
		require.Equal(t, 290*time.Second, time.Since(start))
	})
}

// TestSilentServer checks that each attempt ends after the default of 30 s, and that the waits
// between them double.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := fetch.Download(t.Context(), manifest.File{URL: "https://e.com/f", SHA256: sumOf("x")}, path, &fetch.Options{Transport: &slow{bytes: -1}})
		require.ErrorContains(t, err, "sent nothing for 30s")
		require.Equal(t, 91500*time.Millisecond, time.Since(start))
		require.NoFileExists(t, path)
	})
}

// TestCancelWhileWaiting cancels a call between two attempts.
func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Second)
		defer cancel()
		err := fetch.Download(ctx, manifest.File{URL: "https://e.com/f", SHA256: sumOf("x")}, path, &fetch.Options{Transport: &slow{bytes: -1}, Wait: time.Hour})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
