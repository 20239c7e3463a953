package auth_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	about := []string{"Grace", "Hopper", "", "grace.hopper", "grace.hopper@example.org", "amazinggrace@example.org"}
	for _, row := range []struct{ password, want string }{
		{"correct horse battery", ""},
		{"xkqvzjwp", ""}, // eight characters are enough, of any kind
		{"日本語のパスワード", ""},
		{"amazing grapes", ""},
		{"gracious2", ""},
		{"20261122193847", ""},
		{strings.Repeat("ab1", 341), ""},

		{"", "must not be empty"},
		{"xkqvzjw", "at least 8 characters"},
		{"日本語パスワ", "at least 8 characters"}, // 18 bytes
		{strings.Repeat("x", 1025), "at most 1024 bytes"},
		{"xkqvzjwp\xff", "not valid UTF-8"},
		{"password", "most common"},
		{"PassWord", "most common"},
		{"12345678", "most common"},
		{"p@ssw0rd", "most common"},
		{"password\n12345678", "most common"},
		{"Monkey2938475", "most common"},
		{"P4$$w0rd!!1", "most common"},
		{"1l0vey0u", "most common"},
		{"pass word", "most common"},
		{"QWERTY-uiop", "most common"},
		{"        ", "repeated"},
		{" \t\u00a0 \u3000   ", "repeated"},
		{"zzzzzzzzz", "repeated"},
		{"ЖЖЖЖЖЖЖЖ", "repeated"},
		{"Inventory", "most common"}, // as in common.txt
		{"ashlar2026", "name of the product"},
		{"network-inventory", "name of the product"},
		{"4shl4r!!", "name of the product"},
		{"Grace.Hopper", "your user name"},
		{"grace.hopper2", "your user name"},
		{"GraceHopper1906", "your user name"},
		{"gr4ce_h0pper", "your user name"},
		{"hopper++", "your user name"},
		{"grace.hopper@EXAMPLE.org", "your user name"},
		{"AmazingGrace", "your user name"},
	} {
		err := auth.CheckPassword(row.password, about...)
		if row.want == "" {
			assert.NoError(t, err, "%.30q", row.password)
			continue
		}
		e := requireKind(t, auth.WeakPassword, err)
		assert.Contains(t, e.Message, row.want)
		if row.password != "" && !strings.EqualFold(row.password, "password") {
			assert.NotContains(t, strings.ToLower(err.Error()), strings.ToLower(row.password))
		}
	}
}

// TestManyCommonPasswords: the list has thousands of passwords, of all lengths.
func TestManyCommonPasswords(t *testing.T) {
	t.Parallel()
	require.Greater(t, auth.CommonPasswords(), 7000)
	for _, word := range []string{"snowball", "thunder", "bigdaddy", "minemine", "yosemite"} {
		requireKind(t, auth.WeakPassword, auth.CheckPassword(word+"11111"))
	}
}

func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("common.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.GreaterOrEqual(t, len(lines), 150)
	assert.True(t, slices.IsSorted(lines))
	assert.Len(t, slices.Compact(slices.Clone(lines)), len(lines), "duplicate line")
	for _, line := range lines {
		assert.GreaterOrEqual(t, len(line), auth.MinPasswordLength, line)
		assert.Equal(t, strings.ToLower(line), line)
		requireKind(t, auth.WeakPassword, auth.CheckPassword(strings.ToUpper(line)))
	}
}

func FuzzCheckPassword(f *testing.F) {
	f.Add("password", "grace@example.org")
	f.Add("pass\nword\xff", "")
	f.Fuzz(func(t *testing.T, password, about string) {
		err := auth.CheckPassword(password, about)
		if err != nil {
			requireKind(t, auth.WeakPassword, err)
			return
		}
		require.False(t, strings.EqualFold(password, about))
		require.GreaterOrEqual(t, len([]rune(password)), auth.MinPasswordLength)
	})
}
