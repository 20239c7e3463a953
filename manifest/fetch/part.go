package fetch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// part is a file that is not complete yet.
type part struct {
	*os.File
	size  int64
	taken bool // an earlier call has written the beginning, which is still there
}

// openPart opens the hidden file next to path, or makes it. It must be a plain file:
// in a directory that others write to, it may have been made a link.
func openPart(path, sum string) (*part, error) {
	name := partName(path, sum)
	before, err := os.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file: remove it", name)
	}
	flags := os.O_RDWR | os.O_CREATE
	if err != nil {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && before != nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s was replaced while it was opened", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &part{File: f, size: after.Size(), taken: after.Size() > 0}, nil
}

// restart empties the file.
func (p *part) restart() error {
	p.size, p.taken = 0, false
	return p.Truncate(0)
}

// append writes what comes next.
func (p *part) append(b []byte) error {
	n, err := p.WriteAt(b, p.size)
	p.size += int64(n)
	return err
}

// install copies the file to a path if it has a sum, and returns the sum that it has.
// The copy is what is summed: another call may have this file open as well, and write
// to it at any time.
func (p *part) install(path, want string) (sum string, err error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()+".new")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	sum, err = sumFrom(io.TeeReader(io.NewSectionReader(p, 0, p.size), f))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && sum == want {
		if err = os.Rename(name, path); err == nil {
			return sum, nil
		}
	}
	return sum, errors.Join(err, os.Remove(name))
}

// leave closes the file, and removes it if it is of no use or empty.
func (p *part) leave(useless bool) error {
	err := p.Close()
	if useless || p.size == 0 {
		err = errors.Join(err, p.remove())
	}
	return err
}

// remove removes the file, which another call may have done before.
func (p *part) remove() error {
	err := os.Remove(p.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sumOf is the SHA-256 of a plain file.
func sumOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sumFrom(f)
}

func sumFrom(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
