package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is a low cost that keeps tests fast.
var tiny = auth.Cost{Memory: 64, Time: 1, Parallelism: 1}

func newHasher(t testing.TB, opts *auth.HasherOptions) *auth.Hasher {
	t.Helper()
	if opts == nil {
		opts = &auth.HasherOptions{Cost: tiny}
	}
	h, err := auth.NewHasher(opts)
	require.NoError(t, err)
	return h
}

// requireKind requires that err is an *auth.Error of that kind.
func requireKind(t testing.TB, want auth.Kind, err error) *auth.Error {
	t.Helper()
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Kind, "%v", err)
	require.Equal(t, want, auth.KindOf(err))
	return e
}
