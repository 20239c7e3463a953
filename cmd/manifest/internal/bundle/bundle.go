package bundle

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Options are optional settings. A nil *Options and zero fields mean the defaults.
type Options struct {
	// MaxBytes limits the size of all files together, unpacked. Default: 2 GiB.
	MaxBytes int64
	// MaxFiles limits their number. Default: 100,000.
	MaxFiles int
	// GOOS is the operating system to run on, as in package runtime. Default: this one.
	GOOS string
	// Home is the directory that ${HOME} stands for. Default: that of the user.
	Home string
}

func (o *Options) withDefaults() Options {
	full := *cmp.Or(o, &Options{})
	full.MaxBytes = cmp.Or(max(0, full.MaxBytes), 2<<30)
	full.MaxFiles = cmp.Or(max(0, full.MaxFiles), 100_000)
	full.GOOS = cmp.Or(full.GOOS, runtime.GOOS)
	if full.Home == "" {
		full.Home, _ = os.UserHomeDir()
	}
	return full
}

const (
	maxManifest = 1 << 20 // bytes of the largest manifest.json
	maxDepth    = 64      // parts of a path
)

// Bundle is a verified bundle file. Close it after use.
type Bundle struct {
	// Manifest is that of the bundle.
	Manifest *Manifest

	opts  Options
	file  *os.File
	files map[string]*zip.File // by name; without directories
	dirs  []string
}

// SumError reports a file with another SHA-256 than expected.
type SumError struct{ Want, Got string } // 64 lowercase hexadecimal digits

// Error names both checksums.
func (e *SumError) Error() string {
	return fmt.Sprintf("the file has the SHA-256 %s, not %s: it was changed, or it is another file", e.Got, e.Want)
}

// Open verifies a file and reads its manifest. The error is a [*SumError] for a file with another
// SHA-256, launch.Faults for problems of the manifest, whose pointers are in manifest.json, and
// another one for an archive that is damaged or not permitted.
func Open(file, sum string, opts *Options) (_ *Bundle, err error) {
	if !grammar.IsSHA256(sum) {
		return nil, fmt.Errorf("invalid SHA-256 of %d characters: it has 64 lowercase hexadecimal digits", len(sum))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return nil, &SumError{Want: sum, Got: got}
	}
	z, err := zip.NewReader(f, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("the file is not an archive: %w", err)
	}
	b := &Bundle{opts: opts.withDefaults(), file: f, files: map[string]*zip.File{}}
	if err := b.list(z.File); err != nil {
		return nil, err
	}
	text, err := b.read("manifest.json", maxManifest)
	if err != nil {
		return nil, err
	}
	b.Manifest, err = parse(text)
	if err != nil {
		return nil, err
	}
	return b, b.check()
}

// Close closes the file.
func (b *Bundle) Close() error { return b.file.Close() }

// list checks the entries of the archive.
func (b *Bundle) list(entries []*zip.File) error {
	if len(entries) > b.opts.MaxFiles {
		return fmt.Errorf("the archive has %d entries, more than %d", len(entries), b.opts.MaxFiles)
	}
	left := b.opts.MaxBytes
	seen := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name, "/")
		directory := name != e.Name
		if reason := refused(e, name, directory); reason != "" {
			return fmt.Errorf("the archive has an entry %s, %s", jsonpos.Quote(e.Name), reason)
		}
		folded := strings.ToLower(name)
		if seen[folded] {
			return fmt.Errorf("the archive has two entries %s, which many file systems take for one", jsonpos.Quote(e.Name))
		}
		seen[folded] = true
		if directory {
			b.dirs = append(b.dirs, name)
			continue
		}
		if e.UncompressedSize64 > uint64(left) {
			return fmt.Errorf("the archive has more than %d bytes unpacked", b.opts.MaxBytes)
		}
		left -= int64(e.UncompressedSize64)
		b.files[name] = e
	}
	return nil
}

// refused returns why an entry is not permitted, or "".
func refused(e *zip.File, name string, directory bool) string {
	mode := e.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		return "which is a link"
	case !directory && !mode.IsRegular():
		return "which is not a file"
	case e.Flags&1 != 0:
		return "which is encrypted"
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Sprintf("which is below more than %d directories", maxDepth-1)
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00") || !filepath.IsLocal(filepath.FromSlash(name)) || unportable.MatchString(name):
		return "whose name could leave the directory or mean a device"
	}
	return ""
}

// unportable matches a path with a segment that Windows would not keep as it is: it takes some
// names for devices, with any extension, and drops dots and spaces at the end.
var unportable = regexp.MustCompile(`(?i)(^|/)(con|prn|aux|nul|com[1-9]|lpt[1-9])(\.|/|$)|[. ](/|$)`)

// read returns the content of a file of at most limit bytes.
func (b *Bundle) read(name string, limit int64) ([]byte, error) {
	e := b.files[name]
	if e == nil {
		return nil, fmt.Errorf("the archive has no %s", name)
	}
	if e.UncompressedSize64 > uint64(limit) {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	r, err := e.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// Unpack writes the files to a new directory, whose parent exists. It appears only complete; after
// an error nothing is left. Files that are executable in the archive stay so, and so does the
// program of a binary server.
func (b *Bundle) Unpack(dir string) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s already exists", dir)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range b.dirs {
		if err := root.MkdirAll(filepath.FromSlash(name), 0o755); err != nil {
			return err
		}
	}
	for name, e := range b.files {
		if err := b.unpackFile(root, name, e); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := root.Chmod(".", 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, dir)
}

// unpackFile writes one file.
func (b *Bundle) unpackFile(root *os.Root, name string, e *zip.File) error {
	to := filepath.FromSlash(name)
	if parent := path.Dir(name); parent != "." {
		if err := root.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if e.Mode()&0o111 != 0 || b.Manifest.Server.Type == "binary" && name == b.program() {
		mode = 0o755
	}
	from, err := e.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(from, int64(e.UncompressedSize64)+1)) // Open has bounded the size
	return errors.Join(err, f.Close())
}
