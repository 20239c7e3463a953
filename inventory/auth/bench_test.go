package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func BenchmarkHash(b *testing.B) {
	h, err := auth.NewHasher(nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := h.Hash(b.Context(), "correct horse battery")
		require.NoError(b, err)
	}
}

func BenchmarkVerifyPassword(b *testing.B) {
	h, err := auth.NewHasher(nil)
	require.NoError(b, err)
	stored, err := h.Hash(b.Context(), "correct horse battery")
	require.NoError(b, err)
	for name, against := range map[string]string{"known": stored, "unknown": ""} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ok, err := h.Verify(b.Context(), against, "correct horse battery")
				require.NoError(b, err)
				require.Equal(b, against != "", ok)
			}
		})
	}
}

func BenchmarkCheckPassword(b *testing.B) {
	for b.Loop() {
		require.NoError(b, auth.CheckPassword("correct horse battery", "grace", "grace@example.org"))
	}
}

func BenchmarkVerifyToken(b *testing.B) {
	c := newClock()
	keys := make([][]byte, auth.MaxKeys)
	for i := range keys {
		keys[i] = key(byte('a' + i))
	}
	tokens := newTokens(b, c, keys...)
	for name, k := range map[string][]byte{"first key": keys[0], "last of 8": keys[7]} {
		token, _, err := newTokens(b, c, k).Issue(user())
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tokens.Verify(token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	tokens := newTokens(b, newClock())
	g := newGuard(b, tokens, newAccounts(), nil)
	token, _, err := tokens.Issue(user())
	require.NoError(b, err)
	r := request(token)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
