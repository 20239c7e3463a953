package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// TestImportHosts: the commands import a topology and the hosts of tools, list what has no counterpart, and write
// rejected rows that can be imported.
func TestImportHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	command := func(args ...string) (stderr string, err error) {
		var out, errs bytes.Buffer
		err = run(t.Context(), cli.Env{
			Args: append([]string{"import"}, args...), Stdout: &out, Stderr: &errs,
			Environ: map[string]string{"DATABASE_URL": filepath.Join(dir, "inventory.db"), "LOG_LEVEL": "error"},
		})
		return errs.String(), err
	}
	lab := file("x.clab.yml", "name: lab\ntopology:\n  nodes: {a: , b: }\n  links: [{endpoints: ['a:e1', 'b:e1']}, {endpoints: ['a:e2', 'host:e2']}]\n")
	for _, want := range []string{"7 created, 0 updated, 0 unchanged", "0 created, 0 updated, 7 unchanged"} {
		stderr, err := command("containerlab", lab)
		require.NoError(t, err, stderr)
		require.Contains(t, stderr, want)
		require.Contains(t, stderr, "      1 links to host\n")
	}
	ini := file("hosts", "[web]\nw[1:3] site=VIE ntp=x\nw4 serial_number=\"\x01\"\n")
	stderr, err := command("hosts", "-on-error", "skip", "-rejected", filepath.Join(dir, "rejected"), ini)
	require.ErrorContains(t, err, "1 of 5 rows are rejected")
	require.Contains(t, stderr, "hosts:3: serial_number")
	require.Contains(t, stderr, "4 created")
	require.Contains(t, stderr, "      1 variable ntp\n")
	rejected, err := os.ReadFile(filepath.Join(dir, "rejected", "hosts"))
	require.NoError(t, err)
	require.Equal(t, `- {"_resource":"devices","hostname":"w4","serial_number":"\u0001","tags":["web"]}`+"\n", string(rejected))

	for _, c := range []struct{ want, name, arg string }{
		{"takes one argument", "containerlab", ""},
		{"takes files", "hosts", ""},
		{`-format is "chef"`, "hosts", "-format=chef x"},
		{"no such file", "containerlab", filepath.Join(dir, "none")},
		{"no such file", "hosts", filepath.Join(dir, "none")},
		{"hosts:1: has no topology", "containerlab", file("hosts", "a: b\n")},
		{"hosts:1: the group", "hosts", file("hosts", "a: b\n")},
	} {
		_, err := command(append([]string{c.name}, strings.Fields(c.arg)...)...)
		require.ErrorContains(t, err, c.want)
	}
}
