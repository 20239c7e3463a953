//go:build unix

package manifest_test

import (
	"syscall"
	"time"
)

// processorTime returns the processor time that the process has used, which other load of the
// machine affects less than the time that passes.
func processorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
