package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// clone clones the repository and returns the directory.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	cmd := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--local", filepath.Join("..", "..", ".."), dir)
	cmd.Env = append(os.Environ(), trusted...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// A release takes long: with -short there is none.
func TestMain(m *testing.M) {
	scaletest.Only("none")
	os.Exit(m.Run())
}

// Two builds in two directories are equal byte by byte, and the program in the archive says which
// commit it is of.
func TestReproducible(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "..", "..", ".git")); err != nil {
		t.Skip("SKIPPED: this is not a git repository, and the version of a release is that of a commit")
	}
	tools, err := servertest.Build(filepath.Join("..", "..", ".."), []string{"-trimpath"}, "./cmd/internal/release")
	require.NoError(t, err)
	var sums []string
	var out string
	for range 2 {
		dir := clone(t)
		cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "release"), "-platforms", "linux/amd64", "-programs", "ratelimit-check")
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", text)
		out = filepath.Join(dir, "dist")
		sum, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		require.NoError(t, err)
		require.Equal(t, 4, strings.Count(string(sum), "\n"), "an archive, two packages and an SBOM: %s", sum)
		sums = append(sums, string(sum))
	}
	require.Equal(t, sums[0], sums[1])

	archives, err := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	files := read(t, archives[0])
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "ashlar_"), "_linux_amd64.tar.gz")
	image, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "Dockerfile"))
	require.NoError(t, err)
	added := strings.NewReplacer("${VERSION}", name, "${TARGETARCH}", "amd64").Replace(string(image))
	require.Contains(t, added, "\nADD "+filepath.Base(archives[0])+" /\n", "what the image is built from")
	for _, name := range []string{"ratelimit-check", "LICENSE", "README.md", "CHANGELOG.md", "systemd/ratelimitd.service", "systemd/inventoryd.service"} {
		require.Contains(t, files, name)
	}
	program := filepath.Join(t.TempDir(), "ratelimit-check")
	require.NoError(t, os.WriteFile(program, files["ratelimit-check"], 0o700)) // #nosec G306 -- a program
	version, err := exec.CommandContext(t.Context(), program, "-version").Output()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=12", "HEAD")
	cmd.Dir, cmd.Env = filepath.Dir(out), append(os.Environ(), trusted...)
	commit, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(version), "(commit "+strings.TrimSpace(string(commit))+", ")

	boms, err := filepath.Glob(filepath.Join(out, "*.spdx.json"))
	require.NoError(t, err)
	require.Len(t, boms, 1)
	text, err := os.ReadFile(boms[0])
	require.NoError(t, err)
	var bom struct {
		Packages      []struct{ Name string }
		Relationships []any
	}
	require.NoError(t, json.Unmarshal(text, &bom))
	names := map[string]bool{}
	for _, p := range bom.Packages {
		names[p.Name] = true
	}
	require.True(t, names["stdlib"] && names["github.com/ashlar-go/ashlar"], "%v", names)
	require.Len(t, bom.Relationships, len(bom.Packages))
}

// read returns the files of an archive by their names without its directory.
func read(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(archive)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		_, name, _ := strings.Cut(h.Name, "/")
		files[name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
}
