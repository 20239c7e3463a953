package fetch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// part is a partial file.
type part struct {
	*os.File
	size     int64
	received hash.Hash // SHA-256 of what this call wrote since the file was empty
}

// hidden returns a hidden name next to path.
func hidden(path, suffix string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+suffix)
}

// openPart opens or creates the partial file next to path. Its name has the checksum, so
// that a download of another file does not resume it. It must be a regular file: in a
// directory that others can write to, another user may have replaced it by a link.
func openPart(path, sum string) (*part, error) {
	name := hidden(path, sum[:16]+".part")
	before, err := os.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: remove it", name)
	}
	flags := os.O_RDWR | os.O_CREATE
	if err != nil {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flags, 0o644) // #nosec G302 -- downloads are public
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
	return &part{File: f, size: after.Size(), received: sha256.New()}, nil
}

// restart empties the file.
func (p *part) restart() error {
	p.size = 0
	p.received.Reset()
	return p.Truncate(0)
}

func (p *part) append(b []byte) error {
	n, err := p.WriteAt(b, p.size)
	p.received.Write(b[:n])
	p.size += int64(n)
	return err
}

// install copies the file to path if it has the checksum, and returns the one it has. The
// checksum is that of the copy, because another call may have this file open and write to
// it at any time.
func (p *part) install(path, want string) (sum string, err error) {
	name := hidden(path, rand.Text()+".new")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // #nosec G302 -- downloads are public
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

// close closes the file, and removes it if it is empty or no longer needed. Another call may
// have removed it before.
func (p *part) close(remove bool) error {
	err := p.Close()
	if remove || p.size == 0 {
		if removed := os.Remove(p.Name()); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// sumOf returns the SHA-256 of a regular file.
func sumOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
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
