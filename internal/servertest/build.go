package servertest

import (
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Build builds programs, given as packages below the root of the module, and returns the directory
// with the binaries. It stays in the user's cache, one for each root and set of flags, because go
// build links only the programs that have changed.
func Build(root string, flags []string, packages ...string) (dir string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	key := crc32.ChecksumIEEE(fmt.Append(nil, root, flags))
	dir = filepath.Join(cache, "ashlar", fmt.Sprintf("programs-%08x", key)) + string(filepath.Separator)
	cmd := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", dir}, packages)...) // #nosec G204 -- of a test
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%q: %w\n%s", cmd.Args, err, out)
	}
	return dir, nil
}
