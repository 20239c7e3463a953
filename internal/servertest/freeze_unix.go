//go:build unix

package servertest

import (
	"context"
	"syscall"
	"time"
)

// Freeze stops the process and returns when it has stopped. Its connections stay open, and
// it does not reply until Thaw.
func (p *Process) Freeze() {
	const pingTimeout = 50 * time.Millisecond
	p.signal(syscall.SIGSTOP)
	for err := error(nil); err == nil; {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		err = p.ready(ctx, p.Addr)
		cancel()
	}
}

// Thaw continues a frozen process.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }
