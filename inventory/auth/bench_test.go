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
