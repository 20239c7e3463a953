package client_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/client"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
)

// transport sends requests to a handler without a network, except those that fails refuses.
type transport struct {
	handler http.Handler
	fails   func(n int, r *http.Request) (*http.Response, error) // may be nil, and return nil
	n       int
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.n++
	if t.fails != nil {
		if response, err := t.fails(t.n, r); response != nil || err != nil {
			return response, err
		}
	}
	sent := r.Clone(r.Context())
	sent.RequestURI = r.URL.RequestURI()
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, sent)
	return w.Result(), nil
}

const token = "0123456789abcdef"

// open returns a client of a registry with 250 versions.
func open(t *testing.T, opts *client.Options) (*client.Client, *transport) {
	t.Helper()
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), registrytest.Entries(50, 5), nil))
	tokens, err := registry.Tokens(map[string][]string{token: {"*"}})
	require.NoError(t, err)
	tr := &transport{handler: registry.NewHandler(store, &registry.Options{Authorize: tokens, Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})}
	o := client.Options{}
	if opts != nil {
		o = *opts
	}
	o.HTTP = &http.Client{Transport: tr}
	c, err := client.New("https://registry.example.com/", &o)
	require.NoError(t, err)
	return c, tr
}

// TestCalls uses every method against the handler of this module.
func TestCalls(t *testing.T) {
	t.Parallel()
	c, _ := open(t, &client.Options{Token: token, PageSize: 7})
	seen := map[string]bool{}
	for e, err := range c.All(t.Context(), &registry.Filter{}) {
		require.NoError(t, err)
		seen[e.Name+"@"+e.Version] = true
	}
	require.Len(t, seen, 250)
	n := 0
	for range c.All(t.Context(), &registry.Filter{Version: "latest"}) {
		if n++; n == 9 {
			break
		}
	}
	require.Equal(t, 9, n)

	const weather = `{"name":"io.github.ann/weather","description":"Weather","version":"1.0.0+a/b","$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}`
	published, err := c.Publish(t.Context(), []byte(weather))
	require.NoError(t, err)
	require.JSONEq(t, weather, string(published.Server))
	_, err = c.Publish(t.Context(), []byte(weather))
	require.ErrorIs(t, err, registry.ErrExists)
	_, err = c.Publish(t.Context(), []byte(strings.Replace(weather, "1.0.0+a/b", "latest", 1)))
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok)
	require.Equal(t, 422, e.Status)
	require.Contains(t, err.Error(), "body/version")

	changed, err := c.SetStatus(t.Context(), "io.github.ann/weather", "1.0.0+a/b", registry.Deprecated, "Use another")
	require.NoError(t, err)
	require.Equal(t, "Use another", changed.State.StatusMessage)
	got, err := c.Get(t.Context(), "io.github.ann/weather", "")
	require.NoError(t, err)
	require.Equal(t, changed, got)
	all, err := c.Versions(t.Context(), "io.github.ann/weather")
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, err = c.SetStatus(t.Context(), "io.github.ann/weather", "1.0.0+a/b", registry.Deleted, "")
	require.NoError(t, err)
	_, err = c.Get(t.Context(), "io.github.ann/weather", "")
	require.ErrorIs(t, err, registry.ErrNotFound, "deleted")
	_, err = c.Get(t.Context(), "io.github.ann/none", "")
	require.ErrorIs(t, err, registry.ErrNotFound)
	_, _, err = c.Mirror(t.Context(), time.Time{}, "old")
	require.ErrorIs(t, err, registry.ErrCursor)
}

// respond returns a response with a status.
func respond(status int, header, body string) *http.Response {
	name, value, _ := strings.Cut(header, ": ")
	return &http.Response{StatusCode: status, Header: http.Header{name: {value}}, Body: io.NopCloser(strings.NewReader(body))}
}

// TestRetries: a request is sent again when that may help, after the wait that the registry asks for.
func TestRetries(t *testing.T) {
	for why, tc := range map[string]struct {
		fails   func(n int, r *http.Request) (*http.Response, error)
		publish bool
		sent    int
		wait    time.Duration // at least
		err     string
	}{
		"busy": {func(n int, _ *http.Request) (*http.Response, error) {
			if n <= 2 {
				return respond(429, "Retry-After: 7", ""), nil
			}
			return nil, nil
		}, false, 3, 14 * time.Second, ""},
		"busy until a time": {func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return respond(503, "Retry-After: "+time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat), ""), nil
			}
			return nil, nil
		}, true, 2, 19 * time.Second, ""},
		"no connection": {func(n int, _ *http.Request) (*http.Response, error) {
			if n <= 4 {
				return nil, errors.New("connection reset")
			}
			return nil, nil
		}, false, 5, 4 * time.Second, ""},
		"always failing": {func(int, *http.Request) (*http.Response, error) { return respond(502, "", "<html>"), nil }, false, 5, 4 * time.Second, "502"},
		"a long wait":    {func(int, *http.Request) (*http.Response, error) { return respond(429, "Retry-After: 3600", ""), nil }, false, 1, 0, "429"},
		"a publication that may have been carried out": {func(int, *http.Request) (*http.Response, error) {
			return nil, errors.New("connection reset")
		}, true, 1, 0, "connection reset"},
		"refused": {func(int, *http.Request) (*http.Response, error) {
			return respond(500, "", `{"title":"x","detail":"It \u001b[31mbroke"}`), nil
		}, false, 1, 0, `It \x1b[31mbroke`},
		"endless": {func(int, *http.Request) (*http.Response, error) {
			return respond(200, "", strings.Repeat(" ", 300_000)), nil
		}, false, 1, 0, "more than 200000 bytes"},
		"another service": {func(int, *http.Request) (*http.Response, error) { return respond(200, "", `<html>`), nil }, false, 1, 0, "of a registry"},
		"other JSON":      {func(int, *http.Request) (*http.Response, error) { return respond(200, "", `{}`), nil }, false, 1, 0, "has no servers"},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, tr := open(t, &client.Options{Token: token, MaxBytes: 200_000})
				tr.fails = tc.fails
				began := time.Now()
				var err error
				if tc.publish {
					_, err = c.Publish(t.Context(), []byte(`{"name":"io.github.ann/weather","description":"Weather","version":"1.0.0","$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}`))
				} else {
					_, err = c.Page(t.Context(), &registry.Filter{}, "")
				}
				if tc.err == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, tc.err)
				}
				assert.Equal(t, tc.sent, tr.n, "requests")
				assert.GreaterOrEqual(t, time.Since(began), tc.wait)
				assert.Less(t, time.Since(began), 2*time.Minute)
			})
		})
	}
}

// TestUnreadable: an entry that cannot be read is left out, a page that leads to itself is an error, and a cancelled
// context ends a wait.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tr := open(t, nil)
		tr.fails = func(int, *http.Request) (*http.Response, error) {
			return respond(200, "", `{"servers":[{"server":{"name":"a/b","version":"1"}},{"server":{"name":7}},7,{"server":{"name":"a/c","version":"1"},"_meta":{"com.example/x":{}}}],"metadata":{"nextCursor":"same"}}`), nil
		}
		page, err := c.Page(t.Context(), &registry.Filter{}, "")
		require.NoError(t, err)
		require.Len(t, page.Servers, 2)
		require.Equal(t, 2, page.Unreadable)
		require.Equal(t, registry.Active, page.Servers[1].State.Status)
		tr.fails = func(int, *http.Request) (*http.Response, error) { return respond(200, "", `{"servers":null}`), nil }
		page, err = c.Page(t.Context(), &registry.Filter{}, "")
		require.NoError(t, err)
		require.Empty(t, page.Servers)

		tr.fails = func(int, *http.Request) (*http.Response, error) {
			return respond(200, "", `{"servers":[],"metadata":{"nextCursor":"same"}}`), nil
		}
		var last error
		for _, last = range c.All(t.Context(), &registry.Filter{}) {
		}
		require.ErrorIs(t, last, client.ErrLoop)

		tr.fails = func(int, *http.Request) (*http.Response, error) { return respond(503, "Retry-After: 50", ""), nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Page(ctx, &registry.Filter{}, "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://r.example.com": "https://r.example.com/v0.1", "http://r.example.com/mcp/": "http://r.example.com/mcp/v0.1",
		"https://r.example.com/v0": "https://r.example.com/v0", "https://r.example.com/a/v0.1/": "https://r.example.com/a/v0.1",
		"r.example.com": "", "ftp://r.example.com": "", "https://u:p@r.example.com": "", "https://r.example.com?x=1": "", "": "",
	} {
		c, err := client.New(address, nil)
		if want == "" {
			require.Error(t, err, address)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, c.Base())
	}
}
