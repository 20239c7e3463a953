package memcachestore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func TestSameListsShareCounters(t *testing.T) {
	_, nodes := start(t, 3, nil)
	one, other := open(t, nil, nodes...), open(t, nil, nodes...)
	require.Equal(t, nodes, one.Nodes(), "in the order given")
	for _, key := range keys(50) {
		require.Equal(t, []uint64{1}, add(t, one, hit(key, 1)))
	}
	flush(t, one)
	for _, key := range keys(50) {
		require.Equal(t, []uint64{2}, add(t, other, hit(key, 1)), "%s must be on the same node for both", key)
	}
}

// TestSameNodeAsClientLibrary compares with the client of the reference service, for a list
// that is not sorted.
func TestSameNodeAsClientLibrary(t *testing.T) {
	servers, nodes := start(t, 3, nil)
	slices.SortFunc(nodes, func(a, b string) int { return strings.Compare(b, a) })
	store := open(t, nil, nodes...)
	for _, key := range keys(50) {
		add(t, store, hit(key, 7))
	}
	flush(t, store)
	other := memcache.New(nodes...)
	other.Timeout = timeout
	defer func() { _ = other.Close() }()
	for _, key := range keys(50) {
		item, err := other.Get(key)
		require.NoError(t, err, key)
		require.Equal(t, "7", string(item.Value))
	}
	for _, server := range servers {
		require.True(t, slices.ContainsFunc(keys(50), func(key string) bool { return server.Value(key) != "" }), "each node must have some keys")
	}
}

func TestDuplicateNode(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes[0], nodes[0])
	require.Equal(t, []string{nodes[0], nodes[0]}, store.Nodes())
	require.NoError(t, store.Ping(t.Context()))
	for _, key := range keys(10) {
		add(t, store, hit(key, 1))
	}
	flush(t, store)
	for _, key := range keys(10) {
		require.Equal(t, "1", servers[0].Value(key))
	}
}

func TestInvalidNodesAndOptions(t *testing.T) {
	_, err := memcachestore.New(nil, nil)
	require.ErrorContains(t, err, "no nodes")
	_, err = memcachestore.New([]string{"good:11211", "bad", ":11211", "host:", "host:0", "host:65536", "host:memcache", "ho st:1", "u:p@host:1", ""}, &memcachestore.Options{
		Timeout: -1, MaxIdleConns: -1, MaxReads: 10_001, MaxWaiting: -1, MaxWorkers: -2, MaxPending: -3,
	})
	for _, want := range []string{
		`"bad", number 1`, `":11211", number 2`, `"host:", number 3`, `"host:0", number 4`, `"host:65536", number 5`,
		`"host:memcache", number 6`, `"ho st:1", number 7`, `"***@host:1", number 8`, `"", number 9`,
		"Timeout -1ns", "MaxIdleConns -1", "MaxReads 10001", "MaxWaiting -1", "MaxWorkers -2", "MaxPending -3",
	} {
		require.ErrorContains(t, err, want, "one error must list all problems")
	}
	require.NotContains(t, err.Error(), "good")
	require.NotContains(t, err.Error(), "u:p", "the part before an @ may be a password")
}

func FuzzNodes(f *testing.F) {
	f.Add("10.0.0.1:11211")
	f.Add("[::1]:1")
	f.Add("host:99999")
	f.Fuzz(func(t *testing.T, text string) {
		store, err := memcachestore.New([]string{"z:1", text, "a:1"}, nil)
		if err != nil {
			return
		}
		require.Equal(t, []string{"z:1", strings.TrimSpace(text), "a:1"}, store.Nodes())
	})
}

func FuzzSRV(f *testing.F) {
	f.Add("_memcache._tcp.example.com")
	f.Add("_._.")
	f.Fuzz(func(t *testing.T, text string) {
		if memcachestore.IsSRV(text) {
			require.Regexp(t, `^_[^.]+\._[^.]+\..`, text)
		}
	})
}

func FuzzValue(f *testing.F) {
	f.Add([]byte("10 "))
	f.Add([]byte("18446744073709551616"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if _, err := memcachestore.ParseValue(value); err != nil {
			require.ErrorIs(t, err, memcachestore.ErrNotANumber)
		}
	})
}

func TestInvalidKeys(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for _, c := range []struct{ key, want string }{
		{"", "0 bytes"},
		{strings.Repeat("k", 251), "251 bytes"},
		{"secret blank", "12 bytes"},
		{"secret\n", "7 bytes"},
		{"\x00", "1 bytes"},
		{"secret\x7f", "7 bytes"},
	} {
		hits := []ratelimit.Hit{hit("fine", 1), hit(c.key, 1)}
		err := store.Add(t.Context(), hits)
		require.ErrorIs(t, err, memcachestore.ErrKey)
		require.Equal(t, ratelimit.Invalid, ratelimit.KindOf(err), "the fault of the request, not of the store")
		require.ErrorContains(t, err, "hit 1")
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret", "keys contain values sent by clients")
	}
	flush(t, store)
	require.Empty(t, servers[0].Value("fine"), "no hit of a call that fails may be counted")
	require.Zero(t, store.Stats().KeysRequested)

	longest := strings.Repeat("k", 250)
	require.Equal(t, []uint64{1, 1}, add(t, store, hit(longest, 1), hit("\xff\u00e9", 1)))
	flush(t, store)
	require.Equal(t, "1", servers[0].Value(longest))
}
