package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// source is the text of one manifest.
type source struct {
	path string // "-" for the standard input
	data []byte

	fromRegistry bool // path is no file
}

// name returns the name for messages.
func (s *source) name() string {
	if s.path == "-" {
		return "<stdin>"
	}
	return cli.Printable(s.path)
}

// The default limits of the commands. They are larger than those of the library, because
// the files are the user's own; memory stays below 100 bytes a value and 5 times the size.
const (
	maxFile   = 16 << 20
	maxValues = 500_000
)

// limits defines the flags of limits.
func (c *call) limits() {
	for _, l := range []struct {
		name, usage string
		to          *int
	}{
		{"max-bytes", "read manifests of at most `n` bytes", &c.options.MaxBytes},
		{"max-depth", "read arrays and objects that are nested at most `n` levels deep", &c.options.MaxDepth},
		{"max-meta-depth", "the same below the _meta of the root: at most `n` levels", &c.options.MaxMetaDepth},
		{"max-values", "read manifests of at most `n` values", &c.options.MaxValues},
	} {
		c.flags.Func(l.name, fmt.Sprintf("%s (default %d)", l.usage, *l.to), func(s string) error {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return errors.New("write a number of 1 or more")
			}
			*l.to = n
			return nil
		})
	}
}

// sources reads the files that the arguments name.
func (c *call) sources(ctx context.Context) ([]source, error) {
	if c.from != "" {
		return c.published(ctx)
	}
	paths, err := expand(c.files)
	if err != nil {
		return nil, err
	}
	var all []source
	for _, p := range paths {
		data, err := c.read(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, answered(source{path: p, data: data})...)
	}
	return all, nil
}

// one reads the file of a command that takes one.
func (c *call) one(ctx context.Context) (*source, error) {
	if len(c.files) != 1 {
		return nil, cli.Usagef("name one file, or - for the standard input")
	}
	all, err := c.sources(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(all) != 1:
		return nil, cli.Usagef("%s names %d manifests: name one", c.files[0], len(all))
	}
	return &all[0], nil
}

// expand turns arguments into paths: a directory into the manifests in it, a pattern into
// its matches.
func expand(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, cli.Usagef("name a file, a directory, a pattern, or - for the standard input")
	}
	var paths []string
	for _, arg := range args {
		found, err := expandOne(arg)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	return paths, nil
}

func expandOne(arg string) ([]string, error) {
	if arg == "-" {
		return []string{"-"}, nil
	}
	info, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?[") {
		found, err := filepath.Glob(arg)
		if err != nil || len(found) == 0 {
			return nil, cli.Usagef("no file matches %q", arg)
		}
		return found, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.IsDir() {
		return []string{filepath.Clean(arg)}, nil
	}
	found, err := walk(arg)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no server.json in %s", arg)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return found, nil
}

// walk finds files called server.json or ending in .server.json, except in hidden
// directories and among installed packages.
func walk(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name[0] == '.' || name == "node_modules" || name == "vendor"):
			return fs.SkipDir
		case d.Type().IsRegular() && (name == "server.json" || strings.HasSuffix(name, ".server.json")):
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

func (c *call) read(ctx context.Context, path string) ([]byte, error) {
	most := int64(c.options.MaxBytes) + 1 // so that a larger manifest is reported as such
	if path == "-" {
		return c.ReadInput(ctx, most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		err = unreadable(err)
	}
	return data, err
}

// replace replaces a file atomically and keeps its permissions.
func replace(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // a new file
	}
	if err := cli.WriteFile(real, mode, bytes.NewReader(data)); err != nil {
		return unreadable(err)
	}
	return nil
}
