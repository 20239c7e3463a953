//go:build unix

package sqlstoretest

import (
	"syscall"
	"testing"
	"time"
)

// computed is how long this process has computed.
func computed(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
