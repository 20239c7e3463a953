package servertest

import "syscall"

// attributes has a process killed when the process that runs the tests ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
