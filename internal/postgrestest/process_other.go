//go:build !linux

package postgrestest

import (
	"syscall"
	"testing"
)

// attributes are none: the server runs as whoever runs the test, who must not be root.
func attributes(testing.TB, string) *syscall.SysProcAttr { return nil }

// Freeze skips the test: which processes belong to a server can't be seen here.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Skip("THIS TEST DID NOT RUN TO ITS END: it needs to freeze all processes of a server, which it can't on this system")
}

// Thaw does nothing.
func (*Server) Thaw() {}
