package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// minHeap is the size that the heap may reach before the garbage collector runs. With
// counters in Redis the live heap is so small that by default the collector would run many
// times a second, and slow down the calls in progress each time. More than 16 MiB reduced
// neither the CPU time per call nor the p99.
const minHeap = 16 << 20

// tuneGC lets the heap grow to minHeap, or to twice the live heap if that is more, before
// the garbage collector runs, and returns unused memory to the system while the program is
// idle. GOGC and GOMEMLIMIT, if the user sets them, take precedence.
func tuneGC(environ map[string]string) {
	if environ["GOGC"] != "" || environ["GOMEMLIMIT"] != "" {
		return
	}
	type cycle struct{ _ *int } // becomes garbage, and its finalizer runs, once in each cycle
	percent, last := 100, time.Now()
	var adjust func(*cycle)
	adjust = func(c *cycle) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if p := gcPercent(live[0].Value.Uint64()); p != percent {
			percent = p
			debug.SetGCPercent(p)
		}
		if idle := time.Since(last) > time.Minute; idle {
			debug.FreeOSMemory() // the runtime itself starts a cycle every two minutes
		}
		last = time.Now()
		runtime.SetFinalizer(c, adjust)
	}
	adjust(&cycle{})
}

// gcPercent returns the growth in percent, at least 100, by which a live heap reaches
// minHeap.
func gcPercent(live uint64) int {
	return max(100, int(100*minHeap/max(live, 1<<20))-100)
}
