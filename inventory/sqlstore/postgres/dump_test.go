package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// TestBackup: a dump restores to the same database, while a dump that lacks rows, and one that pg_dump did not finish, are
// errors that leave no file: the operator sees the exit code and the message of inventoryd backup.
func TestBackup(t *testing.T) {
	dump, restore := client(t, "pg_dump"), client(t, "pg_restore")
	server := shared.Server(t)
	url, other := server.Database(t), server.Database(t)
	store := open(t, url, nil)
	require.NoError(t, create(t, store, makeDevices(0, 200)...))
	dir := t.TempDir()
	file := filepath.Join(dir, "inventory.dump")
	require.NoError(t, postgres.Backup(t.Context(), url, file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	run(t, restore, "--exit-on-error", "--no-owner", "--dbname="+other, file)
	before, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	after, err := records.VerifyAudit(t.Context(), open(t, other, nil), nil)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.ErrorContains(t, postgres.Backup(t.Context(), url, file), "name a new file")

	for name, script := range map[string]string{
		"devices": `exec ` + dump + ` --exclude-table-data='*.devices' "$@"`,
		"damaged": dump + ` "$@" && for a; do case $a in --file=*) truncate -s -100 "${a#--file=}";; esac; done`,
		"exit":    `echo "password: $PGPASSWORD" >/dev/null; exit 3`,
	} {
		programs := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(programs, "pg_dump"), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
			require.Error(t, postgres.Backup(t.Context(), url, filepath.Join(dir, "broken.dump")))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}
