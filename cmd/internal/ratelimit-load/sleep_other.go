//go:build !linux

package main

import "time"

// sleepExactly is as exact as the Go runtime is here.
func sleepExactly(d time.Duration) { time.Sleep(d) }
