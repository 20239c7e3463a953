package jwt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

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
