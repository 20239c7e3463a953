// Package scaletest scales tests. There are three ways to run them:
//
//	go test -short             what every change needs: few seeds, one journey through each program
//	go test                    everything
//	ASHLAR_SOAK=1h go test     for as long as the variable says
//
// The targets test, test-all and soak of the Makefile run tests in these ways. make soak runs the
// tests whose names contain Soak or Simulation.
package scaletest

import (
	"flag"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Only restricts a test program that runs with -short, and without -run, to the named tests, and
// reports whether it did. Call it in TestMain. Other tests do not appear as skipped.
func Only(names ...string) bool {
	flag.Parse()
	run := flag.Lookup("test.run")
	if !testing.Short() || run.Value.String() != "" {
		return false
	}
	_ = run.Value.Set("^(" + strings.Join(names, "|") + ")$") // any string is valid
	return true
}

// Soak returns the duration in the variable ASHLAR_SOAK, or 0 if it is not set. A load test takes
// that long.
func Soak(tb testing.TB) time.Duration {
	tb.Helper()
	text := os.Getenv("ASHLAR_SOAK")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		tb.Fatalf("ASHLAR_SOAK=%q: use a duration such as 1h", text)
	}
	return d
}

// Race reports whether the race detector is on.
func Race() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Unraced skips a test with the race detector, because it takes too long and has no goroutines.
func Unraced(tb testing.TB) {
	tb.Helper()
	if Race() {
		tb.Skip("takes too long with the race detector: runs without it")
	}
}

// Seeds yields the seeds of a simulation: those from 1 to short with -short, to full without, with the
// race detector to a quarter of it, and for a tenth of ASHLAR_SOAK if it is set. ASHLAR_SEED=n yields n
// only, to repeat a failure. Seeds ends when the test has failed, and names the failed seed.
func Seeds(tb testing.TB, short, full int) iter.Seq[uint64] {
	tb.Helper()
	first, count, deadline := uint64(1), full, time.Time{}
	if testing.Short() {
		count = short
	}
	if Race() {
		count = (count + 3) / 4
	}
	if soak := Soak(tb); soak > 0 {
		count, deadline = 1, time.Now().Add(soak/10)
	}
	if text := os.Getenv("ASHLAR_SEED"); text != "" {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("ASHLAR_SEED=%q: use one number", text)
		}
		count, deadline = 1, time.Time{}
	}
	return func(yield func(uint64) bool) {
		for seed := first; seed < first+uint64(count) || time.Now().Before(deadline); seed++ {
			if !yield(seed) {
				return
			}
			if tb.Failed() {
				tb.Logf("repeat with ASHLAR_SEED=%d", seed)
				return
			}
		}
	}
}
