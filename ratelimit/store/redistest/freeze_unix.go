//go:build unix

package redistest

import "syscall"

// Freeze stops the process without ending it; its connections stay, and nothing is
// answered until Thaw.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw has a frozen process go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }
