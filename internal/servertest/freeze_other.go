//go:build !unix

package servertest

// Freeze skips the test: this system cannot stop and continue a process.
func (p *Process) Freeze() {
	p.t.Helper()
	p.t.Skip("THIS TEST DID NOT RUN TO ITS END: it needs to freeze a process, which this system cannot do")
}

// Thaw does nothing.
func (*Process) Thaw() {}
