package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Dir names the directory of the files, <Root>/<Subdirectory>/<AppDirectory>. Each
// part may be empty.
type Dir struct {
	Root         string // RUNTIME_ROOT
	Subdirectory string // RUNTIME_SUBDIRECTORY
	AppDirectory string // RUNTIME_APPDIRECTORY
}

// Path returns the path of the directory.
func (d Dir) Path() string { return filepath.Join(d.Root, d.Subdirectory, d.AppDirectory) }

// LoadDir is [Load] of a directory. If there is no such directory, the error names it
// and its settings, and is fs.ErrNotExist.
func LoadDir(dir Dir, opts *Options) (*Config, error) {
	c, _, err := loadDir(dir, opts)
	return c, err
}

// ReadDir returns the files that LoadDir parses, as far as they can be read, and the error of LoadDir.
func ReadDir(dir Dir, opts *Options) ([]File, error) {
	_, files, err := loadDir(dir, opts)
	return files, err
}

func loadDir(dir Dir, opts *Options) (*Config, []File, error) {
	path := dir.Path()
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("configuration directory %s, made of RUNTIME_ROOT %q, RUNTIME_SUBDIRECTORY %q and RUNTIME_APPDIRECTORY %q: %w",
			path, dir.Root, dir.Subdirectory, dir.AppDirectory, withoutPath(err))
	}
	return load(os.DirFS(path), opts)
}

// Load parses the files of a file system whose names end in ".yaml" or ".yml", also in its
// directories, and lists the others in Config.Ignored. The name of a file is its path with "."
// for "/".
//
// Load follows symbolic links; one that leads back to a directory that contains it is
// a fault. In a directory with a "..data" entry, which is how Kubernetes mounts a
// ConfigMap, it skips names that begin with "..": the other links lead to the files.
//
// The error is [Faults] and covers files that can't be read as well as the content of
// the others. An empty file system makes an empty Config. Load of a directory that is
// being changed may see a mixture of versions, or fail; [Watch] loads it again after
// the last change.
func Load(fsys fs.FS, opts *Options) (*Config, error) {
	c, _, err := load(fsys, opts)
	return c, err
}

func load(fsys fs.FS, opts *Options) (*Config, []File, error) {
	w := &walker{fsys: fsys, opts: opts.withDefaults()}
	w.walk(true)
	var files []File
	var ignored []string
	total := int64(0)
	for _, name := range w.files {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			ignored = append(ignored, oneLine(name))
			continue
		}
		f, err := fsys.Open(name)
		var data []byte
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(f, w.opts.MaxFileBytes+1)) // one byte more, for Parse to reject it
			_ = f.Close()
		}
		if err != nil {
			w.fault(name, err, "cannot be read: %v", withoutPath(err))
			continue
		}
		if total += int64(len(data)); total > w.opts.MaxTotalBytes {
			w.fault(name, nil, "more than %d bytes in all files together", w.opts.MaxTotalBytes)
			break
		}
		files = append(files, File{Name: strings.ReplaceAll(name, "/", "."), Data: data})
	}
	c, err := build(files, w.faults, w.opts)
	if c != nil {
		c.Ignored = ignored
	}
	return c, files, err
}

// withoutPath removes the path from an error, for messages that begin with it.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// walker finds the directories and files of a file system, upper levels first.
type walker struct {
	fsys   fs.FS
	opts   Options
	dirs   []*directory
	files  []string // paths
	faults []*Fault
	seen   int  // files and directories
	full   bool // a bound was reached: nothing more is visited
}

type directory struct {
	path  string
	info  fs.FileInfo
	above *directory // nil for the top
	depth int
}

func (w *walker) fault(path string, err error, format string, args ...any) {
	w.faults = append(w.faults, &Fault{File: oneLine(path), Reason: oneLine(fmt.Sprintf(format, args...)), Cause: err})
}

// walk visits everything, or without files only what may be a directory.
func (w *walker) walk(files bool) {
	w.visit(".", nil)
	for i := 0; i < len(w.dirs) && !w.full; i++ {
		d := w.dirs[i]
		entries, err := fs.ReadDir(w.fsys, d.path)
		if err != nil {
			w.fault(d.path, err, "cannot be read: %v", withoutPath(err))
		}
		mount := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "..data" })
		for _, e := range entries {
			hidden := w.opts.IgnoreDotFiles && strings.HasPrefix(e.Name(), ".") || mount && strings.HasPrefix(e.Name(), "..")
			if !hidden && !w.full && (files || !e.Type().IsRegular()) {
				w.visit(path.Join(d.path, e.Name()), d)
			}
		}
	}
}

// visit handles a file, or adds a directory to those to read.
func (w *walker) visit(path string, above *directory) {
	if w.seen++; w.seen > w.opts.MaxFiles+1 { // the top is not counted
		w.fault(path, nil, "more than %d files and directories: is this the right directory?", w.opts.MaxFiles)
		w.full = true
		return
	}
	info, err := fs.Stat(w.fsys, path)
	switch {
	case err != nil:
		w.fault(path, err, "cannot be read: %v", withoutPath(err))
	case info.IsDir():
		w.directory(&directory{path: path, info: info, above: above})
	case !info.Mode().IsRegular():
		w.fault(path, nil, "is neither a file nor a directory but %v", info.Mode().Type())
	default:
		w.files = append(w.files, path)
	}
}

func (w *walker) directory(d *directory) {
	for a := d.above; a != nil; a = a.above {
		if d.depth++; os.SameFile(a.info, d.info) {
			w.fault(d.path, nil, "symbolic link loop: it leads back to %s, which contains it", a.path)
			return
		}
	}
	if d.depth > w.opts.MaxDepth {
		w.fault(d.path, nil, "more than %d nested directories", w.opts.MaxDepth)
		return
	}
	w.dirs = append(w.dirs, d)
}
