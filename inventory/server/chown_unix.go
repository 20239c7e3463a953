//go:build unix

package server

import (
	"io/fs"
	"os"
	"syscall"
)

// chown gives a file the owner and the group of another one.
func chown(name string, like fs.FileInfo) error {
	if of, ok := like.Sys().(*syscall.Stat_t); ok {
		return os.Chown(name, int(of.Uid), int(of.Gid))
	}
	return nil
}
