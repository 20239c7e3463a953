package registrytest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/manifest/registry"
)

// Mirror adds the methods that a store needs as the target of a mirror.
type Mirror interface {
	Mirrored(ctx context.Context, entries []registry.Entry, position []byte) error
	MirrorPosition(ctx context.Context) ([]byte, error)
}

// Run runs the suite. open returns an empty store.
func Run(t *testing.T, open func(t *testing.T) registry.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, registry.Store){
		"Publish": testPublish, "Latest": testLatest, "Status": testStatus, "List": testList,
		"Search": testSearch, "UpdatedSince": testUpdatedSince, "LargePages": testLargePages, "Concurrency": testConcurrency, "Mirrored": testMirrored,
		"Cancelled": testCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// limits are more than the servers of the suite have.
func limits() registry.Limits { return registry.Limits{Versions: 1000, Bytes: 64 << 20} }

func at(seconds int) time.Time { return Start().Add(time.Duration(seconds) * time.Second) }

func publish(t *testing.T, s registry.Store, name, version string, seconds int) *registry.Entry {
	t.Helper()
	e := Entry(name, version, "About "+name, at(seconds))
	require.NoError(t, s.Publish(t.Context(), e, limits()))
	return e
}

// keys returns name@version of entries.
func keys(all []registry.Entry) []string {
	found := []string{}
	for i := range all {
		found = append(found, all[i].Name+"@"+all[i].Version)
	}
	return found
}

// list returns all entries of a filter, page by page.
func list(t *testing.T, s registry.Reader, f registry.Filter, size int) []registry.Entry {
	t.Helper()
	q := &registry.Query{Filter: f, Limit: size}
	var all []registry.Entry
	for range 1000 {
		page, err := s.List(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), size)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		q.After = registry.PositionOf(&f, &page[len(page)-1])
	}
	t.Fatal("the list does not end")
	return nil
}

// theLatest returns the version that is the latest of a server, which must be exactly one.
func theLatest(t *testing.T, s registry.Reader, name string) string {
	t.Helper()
	e, err := s.Get(t.Context(), name, "latest")
	require.NoError(t, err)
	all, err := s.Versions(t.Context(), name)
	require.NoError(t, err)
	for i := range all {
		assert.Equal(t, all[i].Version == e.Version, all[i].State.IsLatest, "isLatest of %s, while the latest is %s", all[i].Version, e.Version)
	}
	assert.True(t, e.State.IsLatest)
	return e.Version
}

func testPublish(t *testing.T, s registry.Store) {
	_, err := s.Get(t.Context(), "a.b/c", "1.0.0")
	require.ErrorIs(t, err, registry.ErrNotFound)
	_, err = s.Get(t.Context(), "a.b/c", "latest")
	require.ErrorIs(t, err, registry.ErrNotFound)
	none, err := s.Versions(t.Context(), "a.b/c")
	require.NoError(t, err)
	require.Empty(t, none)

	e := publish(t, s, "a.b/c", "1.0.0", 1)
	require.True(t, e.State.IsLatest, "the first version is the latest")
	got, err := s.Get(t.Context(), "a.b/c", "1.0.0")
	require.NoError(t, err)
	require.Equal(t, e, got, "a version is read as it was published")

	again := Entry("a.b/c", "1.0.0", "another text", at(2))
	require.ErrorIs(t, s.Publish(t.Context(), again, limits()), registry.ErrExists, "a version cannot be published twice")
	got, err = s.Get(t.Context(), "a.b/c", "1.0.0")
	require.NoError(t, err)
	require.JSONEq(t, string(e.Server), string(got.Server), "a version that was published does not change")

	require.ErrorIs(t, s.Publish(t.Context(), Entry("a.b/c", "1.0.1", "x", at(3)), registry.Limits{Versions: 1, Bytes: 1000}), registry.ErrTooMany, "the number of versions is limited")
	require.ErrorIs(t, s.Publish(t.Context(), Entry("a.b/c", "1.0.1", "x", at(3)), registry.Limits{Versions: 9, Bytes: 100}), registry.ErrTooMany, "their size is limited")
	publish(t, s, "a.b/C", "1.0.0", 4) // names are case-sensitive
	_, err = s.Get(t.Context(), "A.b/c", "1.0.0")
	require.ErrorIs(t, err, registry.ErrNotFound)
}

func testLatest(t *testing.T, s registry.Store) {
	for i, step := range []struct{ version, latest string }{
		{"snapshot", "snapshot"},
		{"nightly", "nightly"}, // published later
		{"1.9.0", "1.9.0"},     // a semantic version is higher than others
		{"build-7", "1.9.0"},
		{"1.10.0", "1.10.0"}, // numbers, not texts
		{"1.9.1", "1.10.0"},
		{"2.0.0-rc.2", "2.0.0-rc.2"},
		{"2.0.0-rc.10", "2.0.0-rc.10"},
		{"2.0.0", "2.0.0"}, // a release is higher than its prereleases
		{"2.0.0-rc.11", "2.0.0"},
		{"2.0.0+build", "2.0.0+build"}, // equal, and published later
		{"2025.09.01", "2025.09.01"},
		{"2025.010.01", "2025.010.01"},
		{"99999999999999999999999.0.0", "99999999999999999999999.0.0"},
	} {
		e := publish(t, s, "a.b/c", step.version, i)
		assert.Equal(t, step.latest == step.version, e.State.IsLatest, step.version)
		require.Equal(t, step.latest, theLatest(t, s, "a.b/c"), "after %s", step.version)
	}
	all, err := s.Versions(t.Context(), "a.b/c")
	require.NoError(t, err)
	require.Equal(t, "99999999999999999999999.0.0", all[0].Version, "the version published last is first")
	require.Equal(t, "snapshot", all[len(all)-1].Version)
}

func testStatus(t *testing.T, s registry.Store) {
	publish(t, s, "a.b/c", "1.0.0", 1)
	publish(t, s, "a.b/c", "2.0.0", 2)
	change := func(version string, status registry.Status, message string, seconds int) ([]registry.Entry, error) {
		return s.SetStatus(t.Context(), "a.b/c", version, &registry.Change{Status: status, Message: message, At: at(seconds)})
	}
	changed, err := change("2.0.0", registry.Deprecated, "Use 3", 10)
	require.NoError(t, err)
	require.Len(t, changed, 1)
	want := registry.State{
		Status: registry.Deprecated, StatusMessage: "Use 3", StatusChangedAt: at(10), PublishedAt: at(2), UpdatedAt: at(10), IsLatest: true,
	}
	require.Equal(t, want, changed[0].State)
	got, err := s.Get(t.Context(), "a.b/c", "2.0.0")
	require.NoError(t, err)
	require.Equal(t, want, got.State)
	_, err = change("2.0.0", registry.Deprecated, "Use 3", 11)
	require.ErrorIs(t, err, registry.ErrUnchanged)
	_, err = change("3.0.0", registry.Deleted, "", 12)
	require.ErrorIs(t, err, registry.ErrNotFound)
	_, err = s.SetStatus(t.Context(), "a.b/d", "", &registry.Change{Status: registry.Deleted, At: at(12)})
	require.ErrorIs(t, err, registry.ErrNotFound)

	_, err = change("2.0.0", registry.Deleted, "broken", 13)
	require.NoError(t, err)
	require.Equal(t, "1.0.0", theLatest(t, s, "a.b/c"), "a deleted version is not the latest while there is another one")
	require.Equal(t, []string{"a.b/c@1.0.0"}, keys(list(t, s, registry.Filter{}, 10)))
	require.Equal(t, []string{"a.b/c@1.0.0"}, keys(list(t, s, registry.Filter{Version: "latest"}, 10)))
	require.Equal(t, []string{"a.b/c@1.0.0", "a.b/c@2.0.0"}, keys(list(t, s, registry.Filter{IncludeDeleted: true}, 10)))

	changed, err = change("", registry.Deleted, "broken", 14)
	require.NoError(t, err)
	require.Equal(t, []string{"a.b/c@1.0.0"}, keys(changed), "only the other version changes")
	require.Equal(t, "2.0.0", theLatest(t, s, "a.b/c"), "of deleted versions the highest is the latest")
	require.Empty(t, list(t, s, registry.Filter{}, 10))
	changed, err = change("", registry.Active, "", 15)
	require.NoError(t, err)
	require.Equal(t, []string{"a.b/c@2.0.0", "a.b/c@1.0.0"}, keys(changed))
	require.Empty(t, changed[0].State.StatusMessage)
	require.Equal(t, "2.0.0", theLatest(t, s, "a.b/c"))
}

func testList(t *testing.T, s registry.Store) {
	for i, key := range [][2]string{{"b.b/x", "1.0.0"}, {"a.a/x", "10.0.0"}, {"a.a/x", "9.0.0"}, {"a.a/y", "1.0.0"}, {"a.a-b/x", "1.0.0"}, {"B.b/x", "2.0.0"}} {
		publish(t, s, key[0], key[1], i)
	}
	sorted := []string{"B.b/x@2.0.0", "a.a-b/x@1.0.0", "a.a/x@10.0.0", "a.a/x@9.0.0", "a.a/y@1.0.0", "b.b/x@1.0.0"}
	for size := 1; size <= 7; size++ {
		require.Equal(t, sorted, keys(list(t, s, registry.Filter{}, size)), "pages of %d", size)
		require.Equal(t, []string{"B.b/x@2.0.0", "a.a-b/x@1.0.0", "a.a/x@10.0.0", "a.a/y@1.0.0", "b.b/x@1.0.0"},
			keys(list(t, s, registry.Filter{Version: "latest"}, size)), "pages of %d of the latest", size)
		require.Equal(t, []string{"a.a-b/x@1.0.0", "a.a/y@1.0.0", "b.b/x@1.0.0"}, keys(list(t, s, registry.Filter{Version: "1.0.0"}, size)))
	}
	page, err := s.List(t.Context(), &registry.Query{After: &registry.Position{Name: "a.a/x", Version: "5"}, Limit: 2})
	require.NoError(t, err)
	require.Equal(t, sorted[3:5], keys(page), "a position need not be that of an entry")
}

func testSearch(t *testing.T, s registry.Store) {
	for i, e := range [][3]string{
		{"io.github.ann/files", "1.0.0", "Reads files"},
		{"io.github.bob/disk", "1.0.0", "Every FILE on a disk"},
		{"io.github.bob/disk", "1.1.0", "All of a disk: 100% äöÜ, a_b \"quoted\" a-c"},
		{"io.github.cy/x", "1.0.0", "Ends"},
	} {
		require.NoError(t, s.Publish(t.Context(), Entry(e[0], e[1], e[2], at(i)), limits()))
	}
	for search, want := range map[string][]string{
		"file": {"io.github.ann/files@1.0.0"}, // what another version says is not searched
		"DISK": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"}, "a_b": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"},
		"axb": {}, "100%": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"}, "%": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"},
		"ÄÖü": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"}, `"quoted"`: {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"},
		"a-c": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"}, "nd": {"io.github.cy/x@1.0.0"}, "b/d": {"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"},
		"io.github.": {"io.github.ann/files@1.0.0", "io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0", "io.github.cy/x@1.0.0"},
		"x OR y":     {}, "x*": {}, "NOT": {},
	} {
		for size := 1; size <= 3; size++ {
			assert.Equal(t, want, keys(list(t, s, registry.Filter{Search: search}, size)), "search %q in pages of %d", search, size)
		}
	}
	assert.Equal(t, []string{"io.github.bob/disk@1.1.0"}, keys(list(t, s, registry.Filter{Search: "disk", Version: "latest"}, 10)))
	assert.Equal(t, []string{"io.github.bob/disk@1.0.0", "io.github.bob/disk@1.1.0"}, keys(list(t, s, registry.Filter{Search: "disk", UpdatedSince: at(1)}, 1)))
	_, err := s.SetStatus(t.Context(), "io.github.bob/disk", "1.1.0", &registry.Change{Status: registry.Deleted, At: at(9)})
	require.NoError(t, err)
	assert.Equal(t, []string{"io.github.ann/files@1.0.0", "io.github.bob/disk@1.0.0"}, keys(list(t, s, registry.Filter{Search: "file"}, 10)),
		"the latest version is another one now")
}

func testUpdatedSince(t *testing.T, s registry.Store) {
	for i, name := range []string{"z.z/a", "y.y/b", "x.x/c", "w.w/d"} {
		publish(t, s, name, "1.0.0", i)
	}
	_, err := s.SetStatus(t.Context(), "y.y/b", "1.0.0", &registry.Change{Status: registry.Deleted, At: at(10)})
	require.NoError(t, err)
	for size := 1; size <= 5; size++ {
		require.Equal(t, []string{"z.z/a@1.0.0", "x.x/c@1.0.0", "w.w/d@1.0.0", "y.y/b@1.0.0"}, keys(list(t, s, registry.Filter{UpdatedSince: at(0)}, size)),
			"entries are sorted by time, deleted ones included")
		require.Equal(t, []string{"w.w/d@1.0.0", "y.y/b@1.0.0"}, keys(list(t, s, registry.Filter{UpdatedSince: at(3)}, size)), "the time itself is included")
	}
	require.Empty(t, list(t, s, registry.Filter{UpdatedSince: at(11)}, 5))
	require.Equal(t, []string{"w.w/d@1.0.0", "y.y/b@1.0.0"}, keys(list(t, s, registry.Filter{UpdatedSince: at(3), Version: "latest"}, 5)))

	q := &registry.Query{Filter: registry.Filter{UpdatedSince: at(0)}, Limit: 2}
	page, err := s.List(t.Context(), q)
	require.NoError(t, err)
	_, err = s.SetStatus(t.Context(), "z.z/a", "1.0.0", &registry.Change{Status: registry.Deprecated, At: at(20)})
	require.NoError(t, err)
	q.After, q.Limit = registry.PositionOf(&q.Filter, &page[1]), 10
	page, err = s.List(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, []string{"w.w/d@1.0.0", "y.y/b@1.0.0", "z.z/a@1.0.0"}, keys(page), "an entry that changes between two pages is not missed")
}

// testLargePages: a page ends before it becomes too large, and the next one continues.
func testLargePages(t *testing.T, s registry.Store) {
	var want []string
	for i := range 12 {
		e := Entry("a.b/c", fmt.Sprintf("1.0.%02d", i), strings.Repeat("x", 1<<20), at(i))
		require.NoError(t, s.Publish(t.Context(), e, limits()))
		want = append(want, "a.b/c@"+e.Version)
	}
	for _, f := range []registry.Filter{{}, {UpdatedSince: at(0)}} {
		page, err := s.List(t.Context(), &registry.Query{Filter: f, Limit: 100})
		require.NoError(t, err)
		require.Len(t, page, registry.MaxPageBytes>>20)
		require.Equal(t, want, keys(list(t, s, f, 100)))
	}
	first, err := registry.List(t.Context(), s, &registry.Query{Limit: 100})
	require.NoError(t, err)
	require.NotEmpty(t, first.Metadata.NextCursor)
}

// testConcurrency: of several publications of a version one succeeds, and one version is the latest.
func testConcurrency(t *testing.T, s registry.Store) {
	const writers, versions = 4, 10
	var all sync.WaitGroup
	var mu sync.Mutex
	published := map[string]int{}
	for range writers {
		all.Go(func() {
			for v := range versions {
				e := Entry("a.b/c", fmt.Sprintf("1.%d.0", v), "x", at(v))
				err := s.Publish(t.Context(), e, limits())
				if err != nil {
					assert.ErrorIs(t, err, registry.ErrExists)
					continue
				}
				mu.Lock()
				published[e.Version]++
				mu.Unlock()
				_, err = s.List(t.Context(), &registry.Query{Limit: 5})
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.Len(t, published, versions)
	for version, n := range published {
		require.Equal(t, 1, n, version)
	}
	require.Equal(t, "1.9.0", theLatest(t, s, "a.b/c"))
}

// testMirrored: entries and position are kept together, and a version that comes again replaces the old one.
func testMirrored(t *testing.T, s registry.Store) {
	m, ok := s.(Mirror)
	if !ok {
		t.Skip("the store is no target of mirrors")
	}
	position, err := m.MirrorPosition(t.Context())
	require.NoError(t, err)
	require.Empty(t, position)
	batch := []registry.Entry{*Entry("a.b/c", "1.0.0", "old", at(1)), *Entry("a.b/c", "2.0.0", "new", at(2)), *Entry("a.b/d", "1.0.0", "gone", at(3))}
	batch[0].State.IsLatest = true // what the source says does not count
	batch[2].State.Status = registry.Deleted
	require.NoError(t, m.Mirrored(t.Context(), batch, []byte("one")))
	require.Equal(t, "2.0.0", theLatest(t, s, "a.b/c"))
	changed := *Entry("a.b/c", "2.0.0", "newer", at(2))
	changed.State.Status, changed.State.StatusMessage, changed.State.UpdatedAt = registry.Deleted, "broken", at(9)
	require.NoError(t, m.Mirrored(t.Context(), []registry.Entry{changed, changed}, []byte("two")))
	position, err = m.MirrorPosition(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two", string(position))
	require.Equal(t, "1.0.0", theLatest(t, s, "a.b/c"))
	require.Equal(t, []string{"a.b/d@1.0.0", "a.b/c@2.0.0"}, keys(list(t, s, registry.Filter{UpdatedSince: at(2)}, 1)), "each entry has one place in the list by time")
	got, err := s.Get(t.Context(), "a.b/c", "2.0.0")
	require.NoError(t, err)
	require.Equal(t, registry.State{Status: registry.Deleted, StatusMessage: "broken", StatusChangedAt: at(2), PublishedAt: at(2), UpdatedAt: at(9)}, got.State)
	require.Equal(t, []string{"a.b/c@1.0.0"}, keys(list(t, s, registry.Filter{Search: "old"}, 10)), "the search follows the latest version")
}

// testCancelled: an ended context ends a call with an error, and changes nothing.
func testCancelled(t *testing.T, s registry.Store) {
	publish(t, s, "a.b/c", "1.0.0", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.List(ctx, &registry.Query{Limit: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Error(t, s.Publish(ctx, Entry("a.b/c", "2.0.0", "x", at(2)), limits()))
	require.Equal(t, "1.0.0", theLatest(t, s, "a.b/c"))
}
