package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// ends runs the program until it has printed a text, or ends by itself.
func ends(t *testing.T, until string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	errs := &watched{until: until, found: cancel}
	code = cli.Run(ctx, "inventoryd", run, cli.Env{Args: append([]string{"-addr", "127.0.0.1:0"}, args...), Stdout: &out, Stderr: errs})
	return code, out.String(), errs.String()
}

// watched is a buffer that reports a text.
type watched struct {
	bytes.Buffer
	until string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.until) {
		w.found()
	}
	return n, err
}

// TestDatabaseErrors: errors about the file say what to do.
func TestDatabaseErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.db")
	require.NoError(t, os.WriteFile(damaged, bytes.Repeat([]byte("garbage "), 10_000), 0o600))
	mend := "the database " + damaged + " is damaged: stop all servers that use it, delete " + damaged + "-wal and " + damaged +
		"-shm, and replace it with a copy that inventoryd backup has made: file is not a database (26)\n"
	for _, c := range []struct {
		want string
		args []string
	}{
		{mend, []string{"-database-url", damaged}},
		{mend, []string{"-database-url", damaged, "verify-audit"}},
		{mend, []string{"-database-url", damaged, "backup", filepath.Join(dir, "copy.db")}},
		{"directory must exist", []string{"-database-url", filepath.Join(dir, "missing", "a.db")}},
		{"directory must exist", []string{"-database-url", dir}},
		{"a.db: no such file", []string{"-database-url", filepath.Join(dir, "a.db"), "admin", "-reset", "admin"}},
	} {
		code, stdout, stderr := ends(t, "Ctrl-C", c.args...)
		require.Equal(t, cli.ExitFailure, code, "%v", c.args)
		require.Contains(t, stderr, c.want, "%v", c.args)
		require.Empty(t, stdout)
	}
}

// TestLostPassword: the password of the first admin is printed once; later starts say how to reset it, and the command
// suggests the name that was meant.
func TestLostPassword(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.db")
	_, stdout, stderr := ends(t, "Ctrl-C stops it", "-database-url", file)
	require.Contains(t, stdout, `the first admin is "admin" with the password `)
	require.NotContains(t, stderr, "-reset")
	code, stdout, stderr := ends(t, "-reset", "-database-url", file)
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "inventoryd admin -reset NAME")

	for name, want := range map[string]string{"adnim": `did you mean "admin"?`, "somebody": `an admin is "admin"`} {
		code, _, stderr = ends(t, "Ctrl-C", "-database-url", file, "admin", "-reset", name)
		require.Equal(t, cli.ExitFailure, code)
		require.Equal(t, "inventoryd: admin: there is no user with the name \""+name+"\": "+want+"\n", stderr)
	}
	_, stdout, _ = ends(t, "Ctrl-C", "-database-url", file, "admin", "-h")
	require.Contains(t, stdout, "inventoryd admin -reset NAME")
	code, stdout, _ = ends(t, "Ctrl-C", "-database-url", file, "admin", "-reset", "admin")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, stdout, `"admin" is an active admin with the password `)
}

// TestDemoAnnouncement: -demo says what it will do before it begins, and nothing of that for an inventory with records.
func TestDemoAnnouncement(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.db")
	_, _, stderr := ends(t, "Ctrl-C stops it", "-database-url", file, "-demo", "-devices", "100")
	require.Regexp(t, `(?m)^demo: adding 100 devices, with about \d+ records in all, to `+file+`; this takes about 1 s\n`, stderr)
	_, _, stderr = ends(t, "Ctrl-C stops it", "-database-url", file, "-demo")
	require.NotContains(t, stderr, "adding")
	require.Contains(t, stderr, "already has records")
}
