package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadDir is [Load] of the directory <root>/<subdirectory>/<appDirectory>: the
// settings RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY. If there
// is no such directory the error names it and them, and is fs.ErrNotExist.
func LoadDir(root, subdirectory, appDirectory string, opts *Options) (*Config, error) {
	dir := filepath.Join(root, subdirectory, appDirectory)
	if err := mustBeDirectory(dir); err != nil {
		return nil, fmt.Errorf("configuration directory %s, made of RUNTIME_ROOT %q, RUNTIME_SUBDIRECTORY %q and RUNTIME_APPDIRECTORY %q: %w",
			dir, root, subdirectory, appDirectory, err)
	}
	return Load(os.DirFS(dir), opts)
}

func mustBeDirectory(dir string) error {
	info, err := os.Stat(dir)
	var perr *fs.PathError
	switch {
	case err == nil && !info.IsDir():
		return errors.New("it is a file, not a directory")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it does not exist; what exists of it is %s: %w", existing(dir), fs.ErrNotExist)
	case errors.As(err, &perr):
		return perr.Err // the path has been named
	}
	return err
}

// existing is the longest part of a path that exists.
func existing(path string) string {
	for {
		parent := filepath.Dir(path)
		if parent == path {
			return path
		}
		path = parent
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
}

// Load reads every file of a file system, in its directories too and whatever the
// extension. The name of a file is its path with "." for "/".
//
// Symbolic links are followed; one that leads back to a directory it is in is a
// fault. In a directory that has a "..data", as Kubernetes mounts a ConfigMap,
// what begins with ".." is left out: the files are reached through the other
// links.
//
// The error is [Faults], of files that can't be read as well as of what is in the
// others. An empty file system makes an empty Config.
//
// A directory that changes while it is read may give a mixture or a fault; what
// watches it loads again after the last change.
func Load(fsys fs.FS, opts *Options) (*Config, error) {
	o := opts.withDefaults()
	t := &tree{fsys: fsys, opts: o}
	t.enter(".", nil)
	return build(t.files, t.faults, o)
}
