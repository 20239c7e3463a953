package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func TestAdminToken(t *testing.T) {
	token, err := parse(t, environment{}).ReadAdminToken()
	require.NoError(t, err)
	require.Empty(t, token, "off by default")
	token, err = parse(t, environment{"ADMIN_TOKEN": "0123456789abcdef"}).ReadAdminToken()
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", token)

	file := filepath.Join(t.TempDir(), "token")
	read := func(content string) (string, error) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		return parse(t, environment{"ADMIN_TOKEN_FILE": file}).ReadAdminToken()
	}
	token, err = read(" 0123456789abcdef\r\n")
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", token)
	for content, want := range map[string]string{
		"":                  "has 0 bytes",
		"0123456789abcde\n": "has 15 bytes",
		"01234567 89abcdef": "has blanks",
	} {
		_, err = read(content)
		require.ErrorContains(t, err, "ADMIN_TOKEN_FILE: "+file+" "+want)
		require.NotContains(t, strings.ReplaceAll(err.Error(), file, ""), "0123")
	}
	_, err = parse(t, environment{"ADMIN_TOKEN_FILE": file + "x"}).ReadAdminToken()
	require.ErrorContains(t, err, "ADMIN_TOKEN_FILE: ")
	require.ErrorIs(t, err, os.ErrNotExist)

	for _, tt := range []struct {
		environ environment
		want    string
	}{
		{environment{"ADMIN_TOKEN": "hunter2"}, "ADMIN_TOKEN: has 7 bytes"},
		{environment{"ADMIN_TOKEN": "hunter2 hunter2 hunter2"}, "ADMIN_TOKEN: has blanks"},
		{environment{"ADMIN_TOKEN": "hunter2hunter2hunter2", "ADMIN_TOKEN_FILE": "f"}, "together with ADMIN_TOKEN_FILE"},
	} {
		lines := refused(t, tt.environ)
		require.Len(t, lines, 1, "%v", tt.environ)
		require.Contains(t, lines[0], tt.want)
		require.NotContains(t, lines[0], "hunter2")
	}

	warnings := settings.Warnings(environment{"ADMIN_TOKEN_FILE": "f", "LOG_LEVEL": "ERROR"})
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "LOG_LEVEL: ")
	for _, e := range settings.Effective(environment{"ADMIN_TOKEN": "hunter2hunter2hunter2"}) {
		require.NotContains(t, e.Value, "hunter2", e.Name)
	}
}
