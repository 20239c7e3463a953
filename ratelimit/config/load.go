package config

import (
	"cmp"
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
	fsys, err := dir.open()
	if err != nil {
		return nil, err
	}
	return Load(fsys, opts)
}

// ReadDir returns the files that LoadDir parses, and the error of LoadDir.
func ReadDir(dir Dir, opts *Options) ([]File, error) {
	fsys, err := dir.open()
	if err != nil {
		return nil, err
	}
	files, _ := Read(fsys, "", opts)
	_, err = Parse(files, opts)
	return files, err
}

func (d Dir) open() (fs.FS, error) {
	path := d.Path()
	info, err := os.Stat(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the path, which the message has
	} else if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return nil, fmt.Errorf("configuration directory %s, made of RUNTIME_ROOT %q, RUNTIME_SUBDIRECTORY %q and RUNTIME_APPDIRECTORY %q: %w",
			path, d.Root, d.Subdirectory, d.AppDirectory, err)
	}
	return os.DirFS(path), nil
}

// Load reads the files of a file system, see [Read], and parses them. It lists the others in Config.Ignored.
//
// The error is [Faults] and covers files that can't be read as well as the content of
// the others. An empty file system makes an empty Config; one that has only other files is a fault. Load of a directory that is
// being changed may see a mixture of versions, or fail; [Watch] loads it again after
// the last change.
func Load(fsys fs.FS, opts *Options) (*Config, error) {
	files, ignored := Read(fsys, "", opts)
	c, err := Parse(files, opts)
	if c != nil {
		c.Ignored = ignored
	}
	return c, err
}

// Read returns the files of a file system whose names end in ".yaml" or ".yml", also in its
// directories, and the paths of the others. The name of a file is its path with "."
// for "/". Files and directories that can't be read have an Err, and so has a file system of
// which all files are passed over. root, unless empty, is the path of
// the file system: the paths are then those below it, and faults name files by them.
//
// Read follows symbolic links; one that leads back to a directory that contains it
// can't be read. In a directory with a "..data" entry, which is how Kubernetes mounts a
// ConfigMap, it skips names that begin with "..": the other links lead to the files.
func Read(fsys fs.FS, root string, opts *Options) (files []File, ignored []string) {
	w := &walker{fsys: fsys, root: root, opts: opts.withDefaults()}
	w.walk(true)
	total := 0
	for _, name := range w.files {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			ignored = append(ignored, oneLine(cmp.Or(w.below(name), name)))
			continue
		}
		f, err := fsys.Open(name)
		var data []byte
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(f, MaxFileBytes+1)) // one byte more, for Parse to reject it
			_ = f.Close()
		}
		if err != nil {
			w.fail(name, err)
			continue
		}
		if total += len(data); total > maxTotalBytes {
			w.fail(name, fmt.Errorf("more than %d bytes in all files together", maxTotalBytes))
			break
		}
		files = append(files, File{Name: strings.ReplaceAll(name, "/", "."), Path: w.below(name), Data: data})
	}
	if files = append(files, w.failed...); len(files) == 0 && len(ignored) > 0 { // nothing would be limited
		files = append(files, File{Name: "configuration directory", Path: root, Err: fmt.Errorf(
			"all %d files are passed over, because no name ends in .yaml or .yml: rename %s",
			len(ignored), strings.Join(ignored[:min(len(ignored), 5)], ", "))})
	}
	return files, ignored
}

// walker finds the directories and files of a file system, upper levels first.
type walker struct {
	fsys   fs.FS
	root   string // its path, if that is shown
	opts   Options
	dirs   []*directory
	files  []string // paths
	failed []File
	seen   int  // files and directories
	full   bool // a bound was reached: nothing more is visited
}

type directory struct {
	path  string
	info  fs.FileInfo
	above *directory // nil for the top
	depth int
}

// below returns the path of a file below the root, "" without one.
func (w *walker) below(name string) string {
	if w.root == "" {
		return ""
	}
	return filepath.Join(w.root, filepath.FromSlash(name))
}

// fail adds a file or directory that can't be read.
func (w *walker) fail(name string, err error) {
	w.failed = append(w.failed, File{Name: name, Path: w.below(name), Err: err})
}

// walk visits everything, or without files only what may be a directory.
func (w *walker) walk(files bool) {
	w.visit(".", nil)
	for i := 0; i < len(w.dirs) && !w.full; i++ {
		d := w.dirs[i]
		entries, err := fs.ReadDir(w.fsys, d.path)
		if err != nil {
			w.fail(d.path, err)
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
	if w.seen++; w.seen > maxFiles+1 { // the top is not counted
		w.fail(path, fmt.Errorf("more than %d files and directories: is this the right directory?", maxFiles))
		w.full = true
		return
	}
	info, err := fs.Stat(w.fsys, path)
	switch {
	case err != nil:
		w.fail(path, err)
	case info.IsDir():
		w.directory(&directory{path: path, info: info, above: above})
	case !info.Mode().IsRegular():
		w.fail(path, fmt.Errorf("is neither a file nor a directory but %v", info.Mode().Type()))
	default:
		w.files = append(w.files, path)
	}
}

func (w *walker) directory(d *directory) {
	for a := d.above; a != nil; a = a.above {
		if d.depth++; os.SameFile(a.info, d.info) {
			w.fail(d.path, fmt.Errorf("symbolic link loop: it leads back to %s, which contains it", a.path))
			return
		}
	}
	if d.depth > maxDirectories {
		w.fail(d.path, fmt.Errorf("more than %d nested directories", maxDirectories))
		return
	}
	w.dirs = append(w.dirs, d)
}
