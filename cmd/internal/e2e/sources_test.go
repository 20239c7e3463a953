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

// TestSources checks that no example is left out, and that none is longer than a page. On its
// way it opens every directory of the module: go test takes a result from its cache if
// nothing has changed that the tests opened, and what the build in TestMain reads does not
// count.
func TestSources(t *testing.T) {
	t.Parallel()
	examples := 0
	err := filepath.WalkDir(checkout, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil // a temporary file of a test that runs next to this one
		case err != nil || !d.IsDir():
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		}
		rel, err := filepath.Rel(checkout, name)
		if err == nil && strings.HasPrefix(rel, "examples/") && filepath.Dir(rel) == "examples" {
			require.Contains(t, programs(), "./"+rel, "an example that no test here runs")
			files, err := filepath.Glob(filepath.Join(name, "*.go"))
			require.NoError(t, err)
			for _, file := range files {
				require.Less(t, strings.Count(content(t, file), "\n"), 80, "%s: lines of an example", file)
			}
			examples++
		}
		return err
	})
	require.NoError(t, err)
	require.Positive(t, examples)
}
