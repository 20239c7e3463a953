//go:build unix

package memcachetest

import (
	"syscall"
	"time"
)

// Freeze stops the process without ending it; its connections stay, and nothing is
// answered until Thaw. It returns when that is so: a signal takes its time.
func (s *Server) Freeze() {
	const moment = 50 * time.Millisecond
	s.signal(syscall.SIGSTOP)
	for err := error(nil); err == nil; {
		_, err = s.ask("version", moment)
	}
}

// Thaw has a frozen process go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }
