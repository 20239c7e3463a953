package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// branch is a directory of the tree.
type branch struct {
	path  string
	info  fs.FileInfo
	above *branch // nil for the top
}

// loops reports whether the directory is one of those that it is in.
func (b *branch) loops() bool {
	for a := b.above; a != nil; a = a.above {
		if os.SameFile(a.info, b.info) {
			return true
		}
	}
	return false
}

// tree is the directory of the files and those in it whose files are loaded, upper
// ones first, no more than MaxDirs. The directory itself is there even if it is
// missing.
func (w *watcher) tree() []string {
	top := &branch{path: w.dir}
	if top.info, _ = os.Stat(w.dir); top.info == nil {
		return []string{w.dir}
	}
	found := []*branch{top}
	for i := 0; i < len(found); i++ {
		found = append(found, w.below(found[i])...)
		if len(found) > w.opts.MaxDirs {
			w.complain()
			found = found[:w.opts.MaxDirs]
		}
	}
	paths := make([]string, len(found))
	for i, b := range found {
		paths[i] = b.path
	}
	return paths
}

// below are the directories in one, links to directories among them. What can't be
// read has none: to load it will say why.
func (w *watcher) below(b *branch) []*branch {
	entries, _ := os.ReadDir(b.path)
	mount := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "..data" })
	var found []*branch
	for _, e := range entries {
		if e.Type().IsRegular() || w.skip(e.Name(), mount) {
			continue
		}
		path := filepath.Join(b.path, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if next := (&branch{path, info, b}); !next.loops() {
			found = append(found, next)
		}
		if len(found) > w.opts.MaxDirs {
			break
		}
	}
	return found
}

// skip leaves out what is not loaded either.
func (w *watcher) skip(name string, mount bool) bool {
	return w.opts.Config.IgnoreDotFiles && strings.HasPrefix(name, ".") || mount && strings.HasPrefix(name, "..")
}

func (w *watcher) complain() {
	if !w.tooMany {
		w.tooMany = true
		w.opts.Log.Warn("too many directories of configuration files to watch them all: changes in the others will be missed",
			"dir", w.dir, "watched", w.opts.MaxDirs)
	}
}
