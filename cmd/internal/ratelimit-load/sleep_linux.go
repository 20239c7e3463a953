package main

import (
	"syscall"
	"time"
)

// sleepExactly blocks the thread in the kernel's own timer, which is late by some
// 60 us where a timer of the Go runtime may be late by a millisecond. When a
// signal ends it early, it goes on for what the kernel says is left.
func sleepExactly(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
