//go:build !unix

package servertest

// Freeze skips the test: a process can't be stopped and go on here.
func (p *Process) Freeze() {
	p.t.Helper()
	p.t.Skip("THIS TEST DID NOT RUN TO ITS END: it needs to freeze a process, which this system can't")
}

// Thaw does nothing.
func (*Process) Thaw() {}
