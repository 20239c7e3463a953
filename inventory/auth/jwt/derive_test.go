package jwt_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

func TestDerive(t *testing.T) {
	t.Parallel()
	a, b := bytes.Repeat([]byte("a"), auth.MinKeyBytes), bytes.Repeat([]byte("b"), auth.MinKeyBytes)
	tokens, err := jwt.NewTokens([][]byte{a, b}, nil)
	require.NoError(t, err)
	derived := tokens.Derive("one")
	require.Len(t, derived, 2)
	require.Len(t, derived[0], 32)
	other, err := jwt.NewTokens([][]byte{b}, nil)
	require.NoError(t, err)
	require.Equal(t, derived[1], other.Derive("one")[0], "another process derives another key")
	for _, different := range [][]byte{a, derived[1], tokens.Derive("two")[0]} {
		require.NotEqual(t, derived[0], different)
	}
}
