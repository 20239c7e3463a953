package archtest_test

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestNoPrivateKeys says that no private key is part of the tree (reference W28): tests make
// theirs when they run, and servers are told where theirs is.
func TestNoPrivateKeys(t *testing.T) {
	t.Parallel()
	const most = 1 << 20 // bytes of a file that is looked into
	armour := regexp.MustCompile(`-----BEGIN ([A-Z]+ )*PRIVATE KEY-----(\\n|\s)+[A-Za-z0-9+/:]{16}`)
	tree, looked := os.DirFS(checkout), 0
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // another test's, and gone by now
		case err != nil:
			return err
		case entry.IsDir() && (path == ".git" || path == "ashlar-data" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > most {
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return nil
		}
		looked++
		if strings.HasSuffix(path, ".key") || armour.Match(text) {
			t.Errorf("%s is a private key, or has one in it", path)
		}
		return nil
	})
	if err != nil || looked < 500 {
		t.Errorf("looked into %d files, and then: %v", looked, err)
	}
}
