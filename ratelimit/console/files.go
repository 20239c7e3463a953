package console

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// Files are the configuration files behind the rules: a [Directory], or [FixedFiles].
type Files interface {
	// Read reads and parses the files as they are now.
	Read() *Snapshot
	// Parse parses files with the options of Read.
	Parse(files []config.File) (*config.Config, error)
}

// Snapshot is the content of files at one time.
type Snapshot struct {
	// Files are those that could be read, in the order of their names.
	Files []config.File
	// Err is the error of config.LoadDir or config.Parse, nil for a valid configuration.
	Err error
}

// file returns the file with a name.
func (s *Snapshot) file(name string) (config.File, bool) {
	i := slices.IndexFunc(s.Files, func(f config.File) bool { return f.Name == name })
	if i < 0 {
		return config.File{}, false
	}
	return s.Files[i], true
}

// Saver is Files that can be changed.
type Saver interface {
	Files
	// Writable returns why a file can't be saved or deleted or, if there is none of that name, why it can't be
	// created; nil if it can, as far as that is known before.
	Writable(name string) error
	// Save replaces the content of an existing file atomically, unless its content is no longer the one with
	// the hash was: then the error is ErrChanged.
	Save(name string, data []byte, was [sha256.Size]byte) error
	// Create creates a file. The error is fs.ErrExist if there is one of that name.
	Create(name string, data []byte) error
	// Delete deletes a file, unless it has changed, as in Save.
	Delete(name string, was [sha256.Size]byte) error
}

// ErrChanged is returned for a file that has changed since it was read.
var ErrChanged = errors.New("the file has changed since it was read")

// FixedFiles are files that never change, such as those that a program contains.
type FixedFiles struct {
	List    []config.File
	Options *config.Options // may be nil
}

// Read implements Files.
func (f *FixedFiles) Read() *Snapshot {
	_, err := f.Parse(f.List)
	return &Snapshot{Files: f.List, Err: err}
}

// Parse implements Files.
func (f *FixedFiles) Parse(files []config.File) (*config.Config, error) {
	return config.Parse(files, f.Options)
}

// Directory is a directory of files, as [config.LoadDir] reads it. Its fields are set before the first use.
type Directory struct {
	Dir     config.Dir
	Options *config.Options // may be nil
	// ReadOnly says why nothing is saved. Default: files that the process may write can be saved.
	ReadOnly string

	mu sync.Mutex // of Save
}

// Parse implements Files.
func (d *Directory) Parse(files []config.File) (*config.Config, error) {
	return config.Parse(files, d.Options)
}

// Read implements Files.
func (d *Directory) Read() *Snapshot {
	files, _, err := d.read()
	return &Snapshot{Files: files, Err: err}
}

// read returns the files, and their paths by name.
func (d *Directory) read() ([]config.File, map[string]string, error) {
	root := d.Dir.Path()
	if info, err := os.Stat(root); err != nil || !info.IsDir() { // #nosec G703 -- the directory of the settings
		_, err := config.LoadDir(d.Dir, d.Options) // for its message
		return nil, nil, err
	}
	seen := &recorded{FS: os.DirFS(root)}
	_, err := config.Load(seen, d.Options)
	paths := map[string]string{}
	var files []config.File
	for _, f := range seen.files {
		name := strings.ReplaceAll(f.path, "/", ".")
		paths[name] = filepath.Join(root, filepath.FromSlash(f.path))
		files = append(files, config.File{Name: name, Data: f.text.Bytes()})
	}
	slices.SortStableFunc(files, func(a, b config.File) int { return strings.Compare(a.Name, b.Name) })
	return files, paths, err
}

// recorded is a file system that keeps the configuration files that are read from it.
type recorded struct {
	fs.FS
	files []*recordedFile
}

// recordedFile keeps what is read.
type recordedFile struct {
	fs.File
	path string
	text bytes.Buffer
	kept bool
	in   *recorded
}

// Open implements fs.FS.
func (r *recorded) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if ext := path.Ext(name); err != nil || ext != ".yaml" && ext != ".yml" {
		return f, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, nil
	}
	return &recordedFile{File: f, path: name, in: r}, nil
}

// Read implements fs.File.
func (f *recordedFile) Read(p []byte) (int, error) {
	if !f.kept {
		f.kept, f.in.files = true, append(f.in.files, f)
	}
	n, err := f.File.Read(p)
	f.text.Write(p[:n])
	return n, err
}

// Writable implements Saver. New files are created in the directory itself.
func (d *Directory) Writable(name string) error {
	_, paths, _ := d.read()
	if file, ok := paths[name]; ok {
		return d.writable(file)
	}
	return d.creatable(name)
}

// newName are the names of new files: those that the directory reads, and no hidden ones.
var newName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}\.ya?ml$`)

func (d *Directory) creatable(name string) error {
	if d.ReadOnly != "" {
		return errors.New(d.ReadOnly)
	}
	if !newName.MatchString(name) {
		return errors.New("use a name of at most 100 letters, digits, dots, - and _ that ends in .yaml or .yml")
	}
	return nil
}

func (d *Directory) writable(file string) error {
	if d.ReadOnly != "" {
		return errors.New(d.ReadOnly)
	}
	if file == "" {
		return fs.ErrNotExist
	}
	info, err := os.Lstat(file) // #nosec G703 -- a file of the directory, by its list
	switch {
	case err != nil:
		return withoutPath(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link: change it where it comes from")
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0) // #nosec G304 G703 -- a file of the directory, by its list
	if err != nil {
		return withoutPath(err)
	}
	return f.Close()
}

// Save implements Saver. Two processes that save at the same time may both succeed; the last one counts.
func (d *Directory) Save(name string, data []byte, was [sha256.Size]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.unchanged(name, was)
	if err != nil {
		return err
	}
	info, err := os.Stat(file) // #nosec G703 -- a file of the directory, by its list
	if err != nil {
		return withoutPath(err)
	}
	return replace(file, data, info.Mode().Perm())
}

// Create implements Saver.
func (d *Directory) Create(name string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.creatable(name); err != nil {
		return err
	}
	_, paths, _ := d.read()
	file := filepath.Join(d.Dir.Path(), name)
	if _, err := os.Lstat(file); paths[name] != "" || !errors.Is(err, fs.ErrNotExist) { // #nosec G703 -- newName has no separator
		return fs.ErrExist
	}
	return replace(file, data, 0o640)
}

// Delete implements Saver.
func (d *Directory) Delete(name string, was [sha256.Size]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.unchanged(name, was)
	if err != nil {
		return err
	}
	return withoutPath(os.Remove(file)) // #nosec G703 -- a file of the directory, by its list
}

// unchanged returns the path of a file that can be written and has the content with a hash.
func (d *Directory) unchanged(name string, was [sha256.Size]byte) (string, error) {
	files, paths, _ := d.read()
	file, ok := (&Snapshot{Files: files}).file(name)
	if !ok {
		return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if err := d.writable(paths[name]); err != nil {
		return "", err
	}
	if sha256.Sum256(file.Data) != was {
		return "", ErrChanged
	}
	return paths[name], nil
}

// replace writes a new file and renames it to its name, in place of an old one.
func replace(file string, data []byte, mode fs.FileMode) (err error) {
	made, err := os.CreateTemp(filepath.Dir(file), ".saving-*") // no name of a configuration file
	if err != nil {
		return withoutPath(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(withoutPath(err), os.Remove(made.Name())) // #nosec G703 -- a file of the directory, by its list
		}
	}()
	_, err = made.Write(data)
	err = errors.Join(err, made.Chmod(mode), made.Sync(), made.Close())
	if err != nil {
		return err
	}
	return os.Rename(made.Name(), file) // #nosec G703 -- a file of the directory, by its list
}

// withoutPath removes the path from an error: pages name files as people know them.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
