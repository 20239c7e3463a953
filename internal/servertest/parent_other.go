//go:build !linux

package servertest

import "syscall"

// attributes has no effect: only Linux can kill a child process with its parent.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
