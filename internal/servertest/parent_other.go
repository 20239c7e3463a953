//go:build !linux

package servertest

import "syscall"

// attributes does nothing: only Linux can end a process with its parent.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
