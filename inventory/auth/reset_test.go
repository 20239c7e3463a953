package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestReset(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("CET", 3600))
	code, r := auth.NewReset("42", foreign[0], now)
	assert.Regexp(t, `^[A-Z2-7]{26}$`, code) // 130 bits
	assert.Regexp(t, `^[0-9a-f]{64}$`, r.CodeHash)
	assert.Regexp(t, `^[0-9a-f]{64}$`, r.Password)
	assert.Equal(t, "42", r.UserID)
	assert.Equal(t, time.Date(2026, 3, 1, 12, 15, 0, 0, time.UTC), r.ExpiresAt)
	for _, stored := range []string{r.CodeHash, r.Password} {
		assert.NotContains(t, strings.ToUpper(stored), code)
	}

	for _, typed := range []string{code, strings.ToLower(code)} {
		found, err := auth.LookupReset(typed)
		require.NoError(t, err)
		assert.Equal(t, r.CodeHash, found)
	}

	for _, row := range []struct {
		user, hash string
		after      time.Duration
		reason     string
	}{
		{"42", foreign[0], 0, ""},
		{"42", foreign[0], 15*time.Minute - 1, ""},
		{"42", foreign[0], 15 * time.Minute, "expired"},
		{"43", foreign[0], 0, "another user"},
		{"", foreign[0], 0, "another user"},
		{"42", foreign[1], 0, "password was changed"},
		{"42", "", 0, "password was changed"},
	} {
		err := r.Check(row.user, row.hash, now.Add(row.after))
		if row.reason == "" {
			assert.NoError(t, err)
			continue
		}
		e := requireKind(t, auth.ResetInvalid, err)
		assert.Equal(t, "Invalid or expired reset code", e.Message)
		assert.Contains(t, e.Reason, row.reason)
		assert.NotContains(t, err.Error(), code)
	}
}

// The zero Reset is valid for no code: a store may return it for an unknown code.
func TestZeroResetResetsNothing(t *testing.T) {
	t.Parallel()
	requireKind(t, auth.ResetInvalid, new(auth.Reset).Check("", "", time.Time{}))
	requireKind(t, auth.ResetInvalid, new(auth.Reset).Check("42", foreign[0], time.Time{}))
	assert.Equal(t, "Invalid or expired reset code", requireKind(t, auth.ResetInvalid, auth.ResetNotFound()).Message)
}

func TestCodesDiffer(t *testing.T) {
	t.Parallel()
	one, r1 := auth.NewReset("42", foreign[0], time.Time{})
	two, r2 := auth.NewReset("42", foreign[0], time.Time{})
	assert.NotEqual(t, one, two)
	assert.NotEqual(t, r1.CodeHash, r2.CodeHash)
	_, r3 := auth.NewReset("4", "2"+foreign[0], time.Time{})
	assert.NotEqual(t, r1.Password, r3.Password, "user id and hash run into each other")
}

func TestLookupResetRefuses(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"", "123456", strings.Repeat("A", 25), strings.Repeat("A", 27), strings.Repeat("A", 25) + "1", strings.Repeat("A", 25) + "%",
		strings.Repeat("A", 12) + "'" + strings.Repeat("A", 13), strings.Repeat("ı", 13), strings.Repeat("A", 1<<20),
	} {
		hash, err := auth.LookupReset(code)
		assert.Empty(t, hash)
		requireKind(t, auth.ResetInvalid, err)
	}
}

func FuzzLookupReset(f *testing.F) {
	code, _ := auth.NewReset("42", foreign[0], time.Time{})
	f.Add(code)
	f.Add(strings.Repeat("ſ", 13))
	f.Fuzz(func(t *testing.T, code string) {
		hash, err := auth.LookupReset(code)
		if err != nil {
			requireKind(t, auth.ResetInvalid, err)
			return
		}
		require.Regexp(t, `^[A-Za-z2-7]{26}$`, code)
		require.Len(t, hash, 64)
	})
}
