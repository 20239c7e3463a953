//go:build !windows && (!unix || solaris || aix)

package main

import "os"

// openLocked opens or creates a file, without a lock where files can't be locked.
func openLocked(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
