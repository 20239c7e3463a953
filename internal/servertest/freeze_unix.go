//go:build unix

package servertest

import (
	"context"
	"syscall"
	"time"
)

// Freeze stops the process without ending it, and returns when it has stopped. Its
// connections stay, and nothing is answered until Thaw.
func (p *Process) Freeze() {
	const moment = 50 * time.Millisecond
	p.signal(syscall.SIGSTOP)
	for err := error(nil); err == nil; {
		ctx, cancel := context.WithTimeout(context.Background(), moment)
		err = p.ready(ctx, p.Addr)
		cancel()
	}
}

// Thaw has a frozen process go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }
