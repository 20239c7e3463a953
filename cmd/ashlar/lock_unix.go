//go:build unix && !solaris && !aix

package main

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens or creates a file and locks it, or returns errLocked. A file system without locks locks nothing.
func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- the user names the directory
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errLocked
	default:
		err = &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return nil, errors.Join(err, f.Close())
}
