package auth_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// Hashes of "password" from the algorithm's reference implementation.
var foreign = []string{
	"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
	"$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
	"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
}

const (
	goodSalt = "c29tZXNhbHQ"
	goodKey  = "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
)

func TestForeignHashesAreVerified(t *testing.T) {
	h := newHasher(t, nil)
	for _, stored := range foreign {
		ok, err := h.Verify(t.Context(), stored, "password")
		require.NoError(t, err, stored)
		assert.True(t, ok, stored)

		ok, err = h.Verify(t.Context(), stored, "Password")
		require.NoError(t, err, stored)
		assert.False(t, ok, stored)

		assert.True(t, h.NeedsRehash(stored), stored)
	}
}

func TestCheckHash(t *testing.T) {
	t.Parallel()
	const version, cost = "$argon2id$v=19$", "m=256,t=2,p=1$"
	const tail = "$" + goodSalt + "$" + goodKey
	for _, row := range []struct{ stored, want string }{
		{version + cost + goodSalt + "$" + goodKey, ""},
		{version + "m=65536,t=1,p=4" + tail, ""}, // the reference service's cost
		{version + "m=262144,t=4,p=16" + tail, ""},

		{"", "not $argon2id$"},
		{"password", "not $argon2id$"},
		{"$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", "not $argon2id$"},
		{"x" + version + cost + goodSalt + "$" + goodKey, "not $argon2id$"},
		{version + cost + goodSalt + "$" + goodKey + "$", "not $argon2id$"},
		{strings.Repeat("$", 300), "longer than 256 bytes"},
		{"$argon2i$v=19$" + cost + goodSalt + "$" + goodKey, "algorithm"},
		{"$argon2d$v=19$" + cost + goodSalt + "$" + goodKey, "algorithm"},
		{"$ARGON2ID$v=19$" + cost + goodSalt + "$" + goodKey, "algorithm"},
		{"$argon2id$v=16$" + cost + goodSalt + "$" + goodKey, "version"},
		{"$argon2id$$" + cost + goodSalt + "$" + goodKey, "version"},
		{"$argon2id$v=019$" + cost + goodSalt + "$" + goodKey, "version"},

		{version + "m=256,t=2" + tail, "m=..,t=..,p=.."},
		{version + "m=256,t=2,p=1,keyid=x" + tail, "m=..,t=..,p=.."},
		{version + "t=2,m=256,p=1" + tail, "parameter 1 is not m="},
		{version + "m=256,t=,p=1" + tail, "parameter 2 is not t="},
		{version + "m=256,t=2,p=+1" + tail, "parameter 3 is not p="},
		{version + "m=0256,t=2,p=1" + tail, "parameter 1"},
		{version + "m=-256,t=2,p=1" + tail, "parameter 1"},
		{version + "m= 256,t=2,p=1" + tail, "parameter 1"},
		{version + "m=99999999999,t=2,p=1" + tail, "parameter 1"},

		{version + "m=262145,t=1,p=1" + tail, "use 8 to 262144 KiB"},
		{version + "m=4294967295,t=1,p=1" + tail, "use 8 to 262144 KiB"},
		{version + "m=7,t=1,p=1" + tail, "use 8 to"},
		{version + "m=31,t=1,p=4" + tail, "use 32 to"},
		{version + "m=0,t=1,p=1" + tail, "use 8 to"},
		{version + "m=256,t=0,p=1" + tail, "use 1 to 16 passes"},
		{version + "m=256,t=17,p=1" + tail, "use 1 to 16 passes"},
		{version + "m=256,t=4294967295,p=1" + tail, "use 1 to 16 passes"},
		{version + "m=262144,t=5,p=1" + tail, "use at most 1048576 KiB"},
		{version + "m=256,t=2,p=0" + tail, "use 1 to 16 lanes"},
		{version + "m=256,t=2,p=17" + tail, "more than 16 lanes"},
		{version + "m=256,t=2,p=257" + tail, "more than 16 lanes"}, // 1, cut to a byte

		{version + cost + "c29tZXNhbA$" + goodKey, "the salt has 7 bytes"},
		{version + cost + strings.Repeat("AAAA", 22) + "$" + goodKey, "the salt has 66 bytes"},
		{version + cost + goodSalt + "=$" + goodKey, "the salt is not base64"},
		{version + cost + "c29tZXNhbHR$" + goodKey, "the salt is not base64"}, // bits left over
		{version + cost + "c29t\nZXNhbHQ$" + goodKey, "the salt is not base64"},
		{version + cost + "$" + goodKey, "the salt has 0 bytes"},
		{version + cost + goodSalt + "$", "the key has 0 bytes"},
		{version + cost + goodSalt + "$AAAAAAAAAAAAAAAAAAAA", "the key has 15 bytes"},
		{version + cost + goodSalt + "$" + strings.Repeat("AAAA", 22), "the key has 66 bytes"},
		{version + cost + goodSalt + "$" + strings.ReplaceAll(goodKey, "/", "_"), "the key is not base64"},
	} {
		err := auth.CheckHash(row.stored)
		if row.want == "" {
			assert.NoError(t, err, row.stored)
			continue
		}
		e := requireKind(t, auth.BadHash, err)
		assert.Contains(t, e.Reason, row.want, "%q", row.stored)
		assert.Equal(t, "Internal Server Error", e.Message)
		assert.NotContains(t, err.Error(), goodSalt)
		assert.NotContains(t, err.Error(), goodKey)
	}
}

// A hash with a cost of 4 TiB is refused without allocating.
func TestBoundsComeBeforeWork(t *testing.T) {
	h := newHasher(t, nil)
	took := allocated(func() {
		for _, cost := range []string{"m=4294967295,t=1,p=1", "m=262144,t=16,p=1", "m=8,t=4294967295,p=1"} {
			_, err := h.Verify(t.Context(), "$argon2id$v=19$"+cost+"$"+goodSalt+"$"+goodKey, "password")
			requireKind(t, auth.BadHash, err)
		}
	})
	assert.Less(t, took, uint64(1<<20))
}

// allocated returns the number of bytes that f allocates. Tests that use it are not parallel.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzCheckHash(f *testing.F) {
	for _, stored := range foreign {
		f.Add(stored)
	}
	f.Add("")
	f.Add("$argon2id$v=19$m=4294967295,t=4294967295,p=255$" + goodSalt + "$" + goodKey)
	f.Add("$argon2id$v=19$m=1,t=1,p=1$$")
	h := newHasher(f, nil)
	f.Fuzz(func(t *testing.T, stored string) {
		text, err := auth.Canonical(stored)
		if err != nil {
			requireKind(t, auth.BadHash, err)
			requireKind(t, auth.BadHash, auth.CheckHash(stored))
			require.True(t, h.NeedsRehash(stored))
			return
		}
		require.Equal(t, stored, text, "one hash has two strings")
		require.NoError(t, auth.CheckHash(stored))
	})
}
