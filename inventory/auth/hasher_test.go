package auth_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestNewHasherRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		opts auth.HasherOptions
		want string
	}{
		{auth.HasherOptions{Cost: auth.Cost{Memory: 64, Time: 1}}, "parallelism of 0: use 1 to 16"},
		{auth.HasherOptions{Cost: auth.Cost{Memory: 64, Time: 0, Parallelism: 1}}, "time of 0: use 1 to 16"},
		{auth.HasherOptions{Cost: auth.Cost{Memory: 1 << 30, Time: 1, Parallelism: 1}}, "memory of 1073741824"},
		{auth.HasherOptions{Cost: auth.Cost{Memory: 1 << 18, Time: 16, Parallelism: 1}}, "use at most 1048576 KiB"},
		{auth.HasherOptions{Concurrent: -1}, "Concurrent -1"},
		{auth.HasherOptions{Concurrent: 1025}, "use 1 to 1024"},
		{auth.HasherOptions{Waiting: -1}, "Waiting -1"},
	} {
		h, err := auth.NewHasher(&row.opts)
		assert.Nil(t, h)
		assert.ErrorContains(t, err, row.want)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	h, err := auth.NewHasher(nil)
	require.NoError(t, err)
	stored, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$"), stored)
	assert.False(t, h.NeedsRehash(stored))
}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	h := newHasher(t, nil)
	for _, password := range []string{
		"x", "correct horse", "pässwörter", "日本語のパスワード", "with\x00zero", "$argon2id$v=19$", strings.Repeat("é", 512),
	} {
		stored, err := h.Hash(t.Context(), password)
		require.NoError(t, err)
		assert.NoError(t, auth.CheckHash(stored))
		assert.False(t, h.NeedsRehash(stored))
		for _, row := range []struct {
			try  string
			want bool
		}{{password, true}, {password + "x", false}, {password[1:], false}, {"", false}, {password + "\x00", false}} {
			ok, err := h.Verify(t.Context(), stored, row.try)
			require.NoError(t, err)
			assert.Equal(t, row.want, ok, "%.20q for %.20q", row.try, password)
		}
	}
}

func TestSaltsDiffer(t *testing.T) {
	t.Parallel()
	h := newHasher(t, nil)
	one, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	two, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	assert.NotEqual(t, one, two)
}

func TestHashRefuses(t *testing.T) {
	t.Parallel()
	h := newHasher(t, nil)
	for _, row := range []struct{ password, want string }{
		{"", "must not be empty"},
		{strings.Repeat("é", 513), "at most 1024 bytes"},
		{"secret\xff", "not valid UTF-8"},
	} {
		stored, err := h.Hash(t.Context(), row.password)
		assert.Empty(t, stored)
		e := requireKind(t, auth.WeakPassword, err)
		assert.Contains(t, e.Message, row.want)
		assert.NotContains(t, e.Error(), "secret")
	}
}

func TestNeedsRehash(t *testing.T) {
	t.Parallel()
	stored, err := newHasher(t, nil).Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	for _, cost := range []auth.Cost{{128, 1, 1}, {64, 2, 1}, {64, 1, 2}} {
		h := newHasher(t, &auth.HasherOptions{Cost: cost})
		assert.True(t, h.NeedsRehash(stored), "%v", cost)
		ok, err := h.Verify(t.Context(), stored, "correct horse")
		require.NoError(t, err)
		assert.True(t, ok)
	}
	// Same cost, shorter salt.
	assert.True(t, newHasher(t, &auth.HasherOptions{Cost: auth.Cost{Memory: 256, Time: 2, Parallelism: 1}}).NeedsRehash(foreign[0]))
	assert.True(t, newHasher(t, nil).NeedsRehash("nonsense"))
}

// Every login takes the same work, measured as allocated memory.
func TestLoginsCostTheSame(t *testing.T) {
	const mib = 1 << 20
	h := newHasher(t, &auth.HasherOptions{Cost: auth.Cost{Memory: 8 << 10, Time: 1, Parallelism: 1}})
	stored, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	for name, row := range map[string]struct {
		stored, password string
		want             bool
	}{
		"right":             {stored, "correct horse", true},
		"wrong":             {stored, "battery staple", false},
		"empty":             {stored, "", false},
		"too long":          {stored, strings.Repeat("x", mib), false},
		"not UTF-8":         {stored, "\xff\xfe", false},
		"unknown user":      {"", "correct horse", false},
		"unknown and empty": {"", "", false},
		"unknown, too long": {"", strings.Repeat("x", mib), false},
	} {
		took := allocated(func() {
			ok, err := h.Verify(t.Context(), row.stored, row.password)
			require.NoError(t, err)
			assert.Equal(t, row.want, ok, name)
		})
		assert.InDelta(t, 8*mib, took, mib/2, name)
	}
}

// A password that matches the hash used for unknown users must not log anyone in.
func TestUnknownUserIsNeverTrue(t *testing.T) {
	t.Parallel()
	h := newHasher(t, nil)
	for _, password := range []string{"", "\x00", "password", strings.Repeat("\x00", 32)} {
		ok, err := h.Verify(t.Context(), "", password)
		require.NoError(t, err)
		assert.False(t, ok)
	}
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	h := newHasher(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Hash(ctx, "correct horse")
	assert.ErrorIs(t, err, context.Canceled)
	ok, err := h.Verify(ctx, foreign[0], "password")
	assert.ErrorIs(t, err, context.Canceled)
	assert.False(t, ok)
}

func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(t, &auth.HasherOptions{Cost: tiny, Concurrent: 1, Waiting: 3})
		leave, err := auth.Occupy(h, int64(tiny.Memory))
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := h.Hash(ctx, "correct horse")
				ends <- err
			}()
		}
		synctest.Wait()
		assert.Empty(t, ends, "a call did not wait")

		_, err = h.Verify(t.Context(), "", "correct horse")
		requireKind(t, auth.Busy, err)

		cancel()
		for range 3 {
			assert.ErrorIs(t, <-ends, context.Canceled)
		}
		leave()
		_, err = h.Hash(t.Context(), "correct horse")
		assert.NoError(t, err, "canceled calls no longer count")
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(t, &auth.HasherOptions{Cost: tiny, Concurrent: 2})
		leave, err := auth.Occupy(h, int64(tiny.Memory))
		require.NoError(t, err)
		_, err = h.Hash(t.Context(), "correct horse")
		require.NoError(t, err, "two hashes fit")

		// The cost of 256 KiB exceeds the limit, so this call must run alone.
		done := make(chan bool)
		go func() {
			ok, err := h.Verify(t.Context(), foreign[0], "password")
			done <- ok && err == nil
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("a hash larger than the room was computed beside another")
		default:
		}
		leave()
		assert.True(t, <-done)
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHasher(t, &auth.HasherOptions{Cost: tiny, Concurrent: 2})
	stored, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	var logins sync.WaitGroup
	for i := range 200 {
		logins.Go(func() {
			against, password := stored, "correct horse"
			if i%3 == 0 {
				password = "battery staple"
			}
			if i%7 == 0 {
				against = ""
			}
			ok, err := h.Verify(t.Context(), against, password)
			assert.NoError(t, err)
			assert.Equal(t, i%3 != 0 && i%7 != 0, ok)
		})
	}
	logins.Wait()
}

// TestOriginsInTurn checks that calls of other origins are served before the rest of those of an
// origin with many, and that these make room if too many wait.
func TestOriginsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(t, &auth.HasherOptions{Cost: tiny, Concurrent: 1, Waiting: 8})
		leave, err := auth.Occupy(h, int64(tiny.Memory))
		require.NoError(t, err)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		call := func(name string, origins ...string) {
			all.Go(func() {
				_, err := h.Hash(auth.WithOrigins(t.Context(), origins...), "correct horse")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					requireKind(t, auth.Busy, err)
					name += " busy"
				}
				order = append(order, name)
			})
			synctest.Wait()
		}
		for range 8 {
			call("guess", "network 1", "jane")
		}
		call("guess", "network 1", "jane") // one too many
		call("jane", "network 2", "jane")  // after all guesses of her password
		call("joe", "network 3", "joe")    // before all but the first, and the last makes room
		call("known jane", "jane in network 4")
		leave()
		all.Wait()
		assert.Equal(t, []string{
			"guess busy", "jane busy", "guess busy", "guess busy",
			"guess", "joe", "known jane", "guess", "guess", "guess", "guess", "guess",
		}, order)
	})
}

// TestPriority checks that a call with priority is served next and finds room, however many origins wait,
// and that further ones of its origin are served in turn.
func TestPriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A hash takes so long that a call notes its name before the next one ends, on a busy machine too.
		cost := auth.Cost{Memory: 4096, Time: 10, Parallelism: 1}
		h := newHasher(t, &auth.HasherOptions{Cost: cost, Concurrent: 1, Waiting: 4})
		leave, err := auth.Occupy(h, int64(cost.Memory))
		require.NoError(t, err)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		call := func(ctx context.Context, name string) {
			all.Go(func() {
				_, err := h.Hash(auth.WithOrigins(ctx, name), "correct horse")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					requireKind(t, auth.Busy, err)
					name += " busy"
				}
				order = append(order, name)
			})
			synctest.Wait()
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			call(t.Context(), name)
		}
		first := auth.WithPriority(t.Context())
		call(first, "jane")
		call(first, "jane")
		leave()
		all.Wait()
		assert.Equal(t, []string{"e busy", "d busy", "jane busy", "jane", "a", "b", "c"}, order)
	})
}
