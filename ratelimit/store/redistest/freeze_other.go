//go:build !unix

package redistest

// Freeze skips the test: a process can't be stopped and go on here.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Skip("THIS TEST DID NOT RUN: it needs to freeze a process, which this system can't")
}

// Thaw does nothing.
func (s *Server) Thaw() {}
