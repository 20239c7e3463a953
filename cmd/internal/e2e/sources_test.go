//go:build unix

package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSources checks that all examples are built and short. It also opens every directory of the
// module, so that go test does not use a cached result after a change: the cache considers the files
// that tests open, but not those that the build in TestMain reads.
func TestSources(t *testing.T) {
	t.Parallel()
	examples := 0
	err := filepath.WalkDir(checkout, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil // a temporary file of a concurrent test
		case err != nil || !d.IsDir():
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		}
		rel, err := filepath.Rel(checkout, name)
		if err == nil && strings.HasPrefix(rel, "examples/") && filepath.Dir(rel) == "examples" {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return nil // a module with tests of its own
			}
			require.Contains(t, programs(), "./"+rel, "add the example to programs")
			files, err := filepath.Glob(filepath.Join(name, "*.go"))
			require.NoError(t, err)
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				require.Less(t, strings.Count(content(t, file), "\n"), 80, "%s: lines of an example", file)
			}
			examples++
		}
		return err
	})
	require.NoError(t, err)
	require.Positive(t, examples)
}
