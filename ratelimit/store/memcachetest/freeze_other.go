//go:build !unix

package memcachetest

// Freeze skips the test: a process can't be stopped here.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Skip("THIS TEST DID NOT RUN TO ITS END: it stops a process, which this system can't")
}

// Thaw does nothing.
func (*Server) Thaw() {}
