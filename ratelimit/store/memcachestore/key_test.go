package memcachestore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func TestKeysThatMemcachedDoesNotTake(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for _, c := range []struct{ key, want string }{
		{"", "is empty"},
		{strings.Repeat("k", 251), "has 251 bytes: memcached accepts at most 250"},
		{"secret blank", "has the byte 0x20 at 6"},
		{"secret\n", "has the byte 0x0a at 6"},
		{"\x00", "has the byte 0x00 at 0"},
		{"secret\x7f", "has the byte 0x7f at 6"},
	} {
		hits := []ratelimit.Hit{hit("fine", 1), hit(c.key, 1)}
		err := store.Add(t.Context(), hits)
		require.ErrorIs(t, err, memcachestore.ErrKey)
		require.Equal(t, ratelimit.Invalid, ratelimit.KindOf(err), "the request is at fault, not the store")
		require.ErrorContains(t, err, "hit 1 "+c.want)
		require.NotContains(t, err.Error(), "secret", "keys are made of what clients send")
	}
	flush(t, store)
	require.Empty(t, servers[0].Value("fine"), "no hit of a call that fails may be counted")
	require.Zero(t, store.Stats().KeysRequested)

	longest := strings.Repeat("k", 250)
	require.Equal(t, []uint64{1, 1}, add(t, store, hit(longest, 1), hit("\xff\u00e9", 1)))
	flush(t, store)
	require.Equal(t, "1", servers[0].Value(longest))
}
