package tlsfiles

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxFile is the largest file that is read, in bytes. The bundle of all public
// authorities is a quarter of it.
const maxFile = 1 << 20

// file is one file of a configuration. Which it is goes into every error.
type file struct {
	role Role
	path string
	data []byte
}

// open reads a file. It does not wait for anything: what is not a regular file, a
// pipe say, is refused unopened.
func open(role Role, path string) (*file, error) {
	f := &file{role: role, path: path}
	if path == "" {
		return nil, f.fault(fmt.Errorf("no file is named: it must be %s", role.wanted()))
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, f.fault(fmt.Errorf("%w: it must be %s", reason(err), role.wanted()))
	}
	if !info.Mode().IsRegular() {
		return nil, f.fault(fmt.Errorf("not a regular file: it must be %s", role.wanted()))
	}
	f.data, err = readAll(path)
	if err != nil {
		return nil, f.fault(fmt.Errorf("%w: it must be %s", reason(err), role.wanted()))
	}
	return f, nil
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	return data, err
}

// reason leaves out the path, which the FileError has.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (f *file) fault(err error) error {
	return &FileError{Role: f.role, Path: f.path, Err: err}
}

// blocks are the PEM blocks of the file, at least one. A block that can't be read is
// an error, because a chain without it is another chain.
func (f *file) blocks() ([]*pem.Block, error) {
	data := bytes.TrimPrefix(f.data, []byte("\ufeff")) // some editors' byte order mark
	begun := bytes.Count(data, []byte("\n-----BEGIN "))
	if bytes.HasPrefix(data, []byte("-----BEGIN ")) {
		begun++
	}
	var all []*pem.Block
	for b, rest := pem.Decode(data); b != nil; b, rest = pem.Decode(rest) {
		all = append(all, b)
	}
	switch {
	case len(data) == 0:
		return nil, f.fault(fmt.Errorf("empty: it must be %s", f.role.wanted()))
	case len(all) < begun:
		return nil, f.fault(fmt.Errorf("%d of %d PEM blocks can't be read, they are damaged or cut short: it must be %s",
			begun-len(all), begun, f.role.wanted()))
	case len(all) == 0:
		return nil, f.fault(fmt.Errorf("not PEM (no line begins with -----BEGIN): it must be %s", f.role.wanted()))
	}
	return all, nil
}

// holds says what kind of PEM blocks there are, in words of ours: what stands in a
// file is not quoted.
func holds(blocks []*pem.Block) string {
	switch first := blocks[0].Type; {
	case first == "CERTIFICATE":
		return "a certificate"
	case isKey(first):
		return "a private key"
	case first == "CERTIFICATE REQUEST", first == "NEW CERTIFICATE REQUEST":
		return "a certificate request"
	case first == "TRUSTED CERTIFICATE":
		return "a certificate in a form of OpenSSL's own"
	case first == "PUBLIC KEY", first == "RSA PUBLIC KEY":
		return "a public key"
	case first == "X509 CRL":
		return "a revocation list"
	default:
		return "something else"
	}
}
