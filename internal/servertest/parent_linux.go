package servertest

import "syscall"

// attributes makes the kernel kill the child process when the test process ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
