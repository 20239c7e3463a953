package stats

import "runtime"

// GoRuntime is a [Registry.Source] of the memory, garbage collector and goroutines of
// the Go runtime, under "ratelimit.go." (REFERENCE.md, 5.1). It stops the program for some
// microseconds.
func GoRuntime(to Reader) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, s := range []struct {
		receive func(name string, n uint64)
		name    string
		n       uint64
	}{
		{to.Gauge, "alloc", m.Alloc},
		{to.Counter, "totalAlloc", m.TotalAlloc},
		{to.Gauge, "sys", m.Sys},
		{to.Counter, "mallocs", m.Mallocs},
		{to.Counter, "frees", m.Frees},
		{to.Gauge, "heapAlloc", m.HeapAlloc},
		{to.Gauge, "heapSys", m.HeapSys},
		{to.Gauge, "heapIdle", m.HeapIdle},
		{to.Gauge, "heapInuse", m.HeapInuse},
		{to.Gauge, "heapReleased", m.HeapReleased},
		{to.Gauge, "heapObjects", m.HeapObjects},
		{to.Gauge, "nextGC", m.NextGC},
		{to.Gauge, "lastGC", m.LastGC},
		{to.Counter, "numGC", uint64(m.NumGC)},
		{to.Counter, "pauseTotalNs", m.PauseTotalNs},
		{to.Gauge, "numGoroutine", uint64(runtime.NumGoroutine())},
	} {
		s.receive("ratelimit.go."+s.name, s.n)
	}
}
