package auth_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/docs/", "/devices?q=a%20b&page=2#x", "/a//b"} {
		require.True(t, auth.LocalPath(path), path)
	}
	for _, path := range []string{
		"", "docs", "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "/\tx", "/\n/evil.example", "/a b", " /", "/ä",
		"/%zz", "/" + strings.Repeat("a", auth.MaxLocalPath),
	} {
		require.False(t, auth.LocalPath(path), path)
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, path := range []string{"/docs/", "//evil.example", "/\\evil.example", "/..//x?y#z", "/%2f%2fevil.example"} {
		f.Add(path)
	}
	base, err := url.Parse("https://inventory.example.org/users/oidc/callback")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		if !auth.LocalPath(path) {
			return
		}
		u, err := base.Parse(path)
		require.NoError(t, err)
		require.Equal(t, "https://inventory.example.org", u.Scheme+"://"+u.Host)
	})
}
