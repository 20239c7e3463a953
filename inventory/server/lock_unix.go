//go:build unix && !solaris && !aix

package server

import (
	"errors"
	"os"
	"syscall"
)

// lockDir waits until no other process has locked a directory, and returns what unlocks it. It creates
// no file, and a process that ends unlocks it.
func lockDir(name string) (unlock func() error, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOSYS) {
		err = nil // a file system without locks
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f.Close, nil
}
