package main

import (
	"runtime"
	"runtime/debug"
	"time"
)

// ballastBytes is the size of memory that counts as part of the live heap and is never written, so that the
// system gives none for it. The garbage collector runs when the heap has twice its live size. With counters in
// Redis that is so small that the collector would run many times a second, and take a tenth of a call.
const ballastBytes = 12 << 20

// tuneGC adds ballast to the heap, and returns unused memory to the system while the program is idle. GOGC and
// GOMEMLIMIT, if the user sets them, take precedence.
func tuneGC(environ map[string]string) {
	if environ["GOGC"] != "" || environ["GOMEMLIMIT"] != "" {
		return
	}
	ballast, last := make([]byte, ballastBytes), time.Now()
	type cycle struct{ _ *int } // becomes garbage, and its finalizer runs, once in each cycle
	var next func(*cycle)
	next = func(c *cycle) {
		if idle := time.Since(last) > time.Minute; idle {
			debug.FreeOSMemory() // the runtime itself starts a cycle every two minutes
		}
		last = time.Now()
		runtime.KeepAlive(ballast)
		runtime.SetFinalizer(c, next)
	}
	next(&cycle{})
}
