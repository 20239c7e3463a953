package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// tree collects the files of a file system.
type tree struct {
	fsys   fs.FS
	opts   Options
	files  []File
	faults Faults
	seen   int   // files and directories
	bytes  int64 // of all files
	full   bool  // a bound was reached: nothing more is read
}

// directory is one that is being read.
type directory struct {
	path string
	info fs.FileInfo
}

func (t *tree) fault(path string, err error, format string, args ...any) {
	t.faults = append(t.faults, &Fault{File: path, Reason: oneLine(fmt.Sprintf(format, args...), maxReason), Cause: err})
}

// enter reads what is at a path: a file, or all that is in a directory.
func (t *tree) enter(path string, above []directory) {
	if t.seen++; t.seen > t.opts.MaxFiles+1 { // the top is not counted
		t.fault(path, nil, "more than %d files and directories: is this the right directory?", t.opts.MaxFiles)
		t.full = true
		return
	}
	info, err := fs.Stat(t.fsys, path)
	switch {
	case err != nil:
		t.fault(path, err, "cannot be read: %v", cause(err))
	case info.IsDir():
		t.directory(directory{path, info}, above)
	case info.Mode().IsRegular():
		t.file(path)
	default:
		t.fault(path, nil, "is neither a file nor a directory but %v", info.Mode().Type())
	}
}

func (t *tree) directory(d directory, above []directory) {
	for _, a := range above {
		if os.SameFile(a.info, d.info) {
			t.fault(d.path, nil, "symbolic link loop: it leads back to %s, which it is in", a.path)
			return
		}
	}
	if len(above) > t.opts.MaxDepth {
		t.fault(d.path, nil, "more than %d directories in each other", t.opts.MaxDepth)
		return
	}
	entries, err := fs.ReadDir(t.fsys, d.path)
	if err != nil {
		t.fault(d.path, err, "cannot be read: %v", cause(err))
	}
	mount := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "..data" })
	for _, e := range entries {
		if t.full {
			return
		}
		if !t.skip(e.Name(), mount) {
			t.enter(path.Join(d.path, e.Name()), append(above, d))
		}
	}
}

// skip leaves out dot files if asked to, and the bookkeeping of a ConfigMap mount
// always.
func (t *tree) skip(name string, mount bool) bool {
	return t.opts.IgnoreDotFiles && strings.HasPrefix(name, ".") || mount && strings.HasPrefix(name, "..")
}

func (t *tree) file(path string) {
	data, err := readAtMost(t.fsys, path, t.opts.MaxFileBytes)
	if err != nil {
		t.fault(path, err, "cannot be read: %v", cause(err))
		return
	}
	if t.bytes += int64(len(data)); t.bytes > t.opts.MaxTotalBytes {
		t.fault(path, nil, "more than %d bytes in all files together", t.opts.MaxTotalBytes)
		t.full = true
		return
	}
	t.files = append(t.files, File{Name: strings.ReplaceAll(path, "/", "."), Data: data})
}

// readAtMost reads a file, but no more than one byte beyond the limit, which is
// enough for it to be refused later.
func readAtMost(fsys fs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// cause is the error without the path, which a fault has in front.
func cause(err error) error {
	if perr := (*fs.PathError)(nil); errors.As(err, &perr) {
		return perr.Err
	}
	return err
}
