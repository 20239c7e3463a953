package mirror_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/mirror"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/client"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

const token = "0123456789abcdef"

// serve serves a store, and returns a client of it.
func serve(t *testing.T, store registry.Store, pageSize int) *client.Client {
	t.Helper()
	tokens, err := registry.Tokens(map[string][]string{token: {"*"}})
	require.NoError(t, err)
	server := httptest.NewServer(registry.NewHandler(store, &registry.Options{Authorize: tokens, Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, &client.Options{Token: token, PageSize: pageSize, HTTP: server.Client()})
	require.NoError(t, err)
	return c
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// all returns all entries of a store by key.
func all(t *testing.T, s registry.Reader) map[string]registry.Entry {
	t.Helper()
	entries, err := s.List(t.Context(), &registry.Query{Filter: registry.Filter{IncludeDeleted: true}, Limit: 1 << 20})
	require.NoError(t, err)
	found := map[string]registry.Entry{}
	for _, e := range entries {
		found[e.Name+"@"+e.Version] = e
	}
	require.Len(t, found, len(entries))
	return found
}

// TestIncremental: the first run copies everything, later ones what changed, deletions included.
func TestIncremental(t *testing.T) {
	t.Parallel()
	origin := registry.NewMemStore(nil)
	require.NoError(t, origin.Mirrored(t.Context(), registrytest.Entries(100, 3), nil))
	source, copied := serve(t, origin, 20), open(t, filepath.Join(t.TempDir(), "mirror.db"))
	end := registrytest.Start().Add(300 * time.Second) // all times of the origin are before
	opts := &mirror.Options{Overlap: 10 * time.Second, Now: func() time.Time { return end }}
	done, err := mirror.Run(t.Context(), source, copied, opts)
	require.NoError(t, err)
	require.Equal(t, mirror.Result{Pages: 15, Entries: 300}, done)
	require.Equal(t, all(t, origin), all(t, copied))

	name := registrytest.Entries(1, 1)[0].Name
	_, err = origin.SetStatus(t.Context(), name, "", &registry.Change{Status: registry.Deleted, Message: "gone", At: end.Add(time.Minute)})
	require.NoError(t, err)
	require.NoError(t, origin.Publish(t.Context(), registrytest.Entry("a.b/new", "1.0.0", "New", end.Add(time.Minute)), registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	done, err = mirror.Run(t.Context(), source, copied, opts)
	require.NoError(t, err)
	require.Equal(t, 3, done.Deleted, "the versions of the server")
	require.Less(t, done.Entries, 20, "only what is new, and the overlap")
	require.Equal(t, end.Add(-11*time.Second), done.Since)
	require.Equal(t, all(t, origin), all(t, copied))
	require.Equal(t, "gone", all(t, copied)[name+"@1.0.0"].State.StatusMessage)

	_, err = mirror.Run(t.Context(), serve(t, origin, 20), copied, opts)
	require.ErrorContains(t, err, "is a mirror of "+source.Base())
}

// flaky fails at one of its calls, before or after that has had its effect.
type flaky struct {
	*client.Client
	*sqlite.Store
	left int // calls until then
}

var errKilled = errors.New("killed")

func (f *flaky) fail() error {
	if f.left--; f.left == 0 {
		return errKilled
	}
	return nil
}

func (f *flaky) Mirror(ctx context.Context, since time.Time, cursor string) (*registry.Page, int, error) {
	if err := f.fail(); err != nil {
		return nil, 0, err
	}
	return f.Client.Mirror(ctx, since, cursor)
}

func (f *flaky) Mirrored(ctx context.Context, entries []registry.Entry, position []byte) error {
	if err := f.fail(); err != nil {
		return err
	}
	return errors.Join(f.Store.Mirrored(ctx, entries, position), f.fail())
}

// TestInterrupted ends runs at every point, and continues with the file that they left, while the origin changes.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	origin := registry.NewMemStore(nil)
	require.NoError(t, origin.Mirrored(t.Context(), registrytest.Entries(40, 3), nil))
	source, path := serve(t, origin, 7), filepath.Join(t.TempDir(), "mirror.db")
	runs, resumed := 0, 0
	for {
		store, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		f := &flaky{source, store, 1 + runs%12}
		done, err := mirror.Run(t.Context(), f, f, nil)
		require.NoError(t, store.Close())
		if done.Resumed {
			resumed++
		}
		if runs++; err == nil {
			break
		}
		require.ErrorIs(t, err, errKilled)
		require.Less(t, runs, 100, "the mirror makes progress")
		at := registrytest.Start().Add(time.Duration(1000+runs) * time.Second)
		require.NoError(t, origin.Publish(t.Context(), registrytest.Entry("a.b/new", fmt.Sprintf("1.%d.0", runs), "New", at), registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	}
	require.Greater(t, resumed, 5, "runs continue where they were interrupted")
	copied := open(t, path)
	_, err := mirror.Run(t.Context(), source, copied, nil) // what the origin has published before the cursor meanwhile
	require.NoError(t, err)
	require.Equal(t, all(t, origin), all(t, copied))
}

// refusing refuses cursors.
type refusing struct{ *client.Client }

func (r refusing) Mirror(ctx context.Context, since time.Time, cursor string) (*registry.Page, int, error) {
	if cursor == "outdated" {
		return nil, 0, registry.ErrCursor
	}
	return r.Client.Mirror(ctx, since, cursor)
}

// TestCursorRefused: a pass whose cursor is refused begins again.
func TestCursorRefused(t *testing.T) {
	t.Parallel()
	origin := registry.NewMemStore(nil)
	require.NoError(t, origin.Mirrored(t.Context(), registrytest.Entries(10, 2), nil))
	source, copied := serve(t, origin, 7), registry.NewMemStore(nil)
	require.NoError(t, copied.Mirrored(t.Context(), nil, fmt.Appendf(nil, `{"source":%q,"began":"2026-01-31T12:00:00Z","cursor":"outdated"}`, source.Base())))
	done, err := mirror.Run(t.Context(), refusing{source}, copied, nil)
	require.NoError(t, err)
	require.Equal(t, 20, done.Entries)
	require.False(t, done.Resumed)
	require.Equal(t, all(t, origin), all(t, copied))
}

// hostile is a registry without an end: its cursors go round, or it does not respond.
type hostile struct {
	cursors []string
	n       int
}

func (*hostile) Base() string { return "https://registry.example.com" }

func (h *hostile) Mirror(ctx context.Context, _ time.Time, _ string) (*registry.Page, int, error) {
	if h.n == len(h.cursors) {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	p := &registry.Page{}
	p.Metadata.NextCursor = h.cursors[h.n]
	h.n++
	return p, 0, nil
}

// TestHostile: a pass ends with an error, for the exit code of manifest mirror, though the registry does not.
func TestHostile(t *testing.T) {
	t.Parallel()
	for want, cursors := range map[string][]string{
		"the same cursor twice": {"a", "b", "a", "b"},
		"longer than":           {"a", "b"},
	} {
		_, err := mirror.Run(t.Context(), &hostile{cursors: cursors}, open(t, filepath.Join(t.TempDir(), "mirror.db")), &mirror.Options{Timeout: 100 * time.Millisecond})
		require.ErrorContains(t, err, want)
	}
}

// TestPublished publishes all valid documents of published/*.ndjson.gz of the corpus that ASHLAR_MANIFEST_CORPUS
// names, mirrors them, and compares.
func TestPublished(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASHLAR_MANIFEST_CORPUS"), "published", "*.ndjson.gz"))
	require.NoError(t, err)
	if os.Getenv("ASHLAR_MANIFEST_CORPUS") == "" || len(files) == 0 {
		t.Skip("SKIPPED: ASHLAR_MANIFEST_CORPUS does not name a directory with published/*.ndjson.gz, so no published manifest is mirrored")
	}
	origin := registry.NewMemStore(nil)
	source := serve(t, origin, 100)
	want, invalid, twice := map[string]string{}, 0, 0
	for line := range lines(t, files) {
		valid := manifest.Validate(line, &manifest.Options{Profile: manifest.Registry}).Valid()
		e, err := source.Publish(t.Context(), line)
		switch failure, _ := errors.AsType[*client.Error](err); {
		case err == nil:
			require.True(t, valid, "an invalid document was published: %s", line)
			require.JSONEq(t, string(line), string(e.Server))
			want[e.Name+"@"+e.Version] = string(e.Server)
		case failure == nil:
			require.NoError(t, err)
		case failure.Status == http.StatusConflict:
			require.True(t, valid)
			twice++
		default:
			require.False(t, valid && !strings.Contains(err.Error(), `and \"\"`), "%v: %s", err, line) // an empty version has no path
			require.Equal(t, http.StatusUnprocessableEntity, failure.Status, "%v: %s", err, line)
			invalid++
		}
	}
	t.Logf("%d published, %d invalid, %d of versions that exist", len(want), invalid, twice)
	require.NotEmpty(t, want)
	copied := open(t, filepath.Join(t.TempDir(), "mirror.db"))
	done, err := mirror.Run(t.Context(), source, copied, nil)
	require.NoError(t, err)
	require.Equal(t, len(want), done.Entries)
	found := all(t, copied)
	assert.Equal(t, all(t, origin), found)
	for key, document := range want {
		e := found[key]
		assert.Equal(t, document, string(e.Server), key)
	}
}

// lines returns the lines of compressed files.
func lines(t *testing.T, paths []string) func(yield func([]byte) bool) {
	t.Helper()
	return func(yield func([]byte) bool) {
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			r, err := gzip.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			scanner := bufio.NewScanner(r)
			scanner.Buffer(nil, 4<<20)
			for scanner.Scan() {
				if !yield(bytes.Clone(scanner.Bytes())) {
					return
				}
			}
			require.NoError(t, scanner.Err())
		}
	}
}
