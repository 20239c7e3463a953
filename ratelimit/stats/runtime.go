package stats

import (
	"runtime/debug"
	"runtime/metrics"
)

const goPrefix = "ratelimit.go."

// Memory classes that several statistics are computed from.
const (
	heapObjects  = "/memory/classes/heap/objects:bytes"
	heapUnused   = "/memory/classes/heap/unused:bytes"
	heapFree     = "/memory/classes/heap/free:bytes"
	heapReleased = "/memory/classes/heap/released:bytes"
)

// runtimeStatistics lists the statistics and the runtime metrics that each is the sum of.
var runtimeStatistics = []struct {
	name    string
	counter bool
	of      []string
}{
	{"alloc", false, []string{heapObjects}},
	{"totalAlloc", true, []string{"/gc/heap/allocs:bytes"}},
	{"sys", false, []string{"/memory/classes/total:bytes"}},
	{"mallocs", true, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"frees", true, []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"heapAlloc", false, []string{heapObjects}},
	{"heapSys", false, []string{heapObjects, heapUnused, heapFree, heapReleased}},
	{"heapIdle", false, []string{heapFree, heapReleased}},
	{"heapInuse", false, []string{heapObjects, heapUnused}},
	{"heapReleased", false, []string{heapReleased}},
	{"heapObjects", false, []string{"/gc/heap/objects:objects"}},
	{"nextGC", false, []string{"/gc/heap/goal:bytes"}},
	{"numGC", true, []string{"/gc/cycles/total:gc-cycles"}},
	{"numGoroutine", false, []string{"/sched/goroutines:goroutines"}},
}

// GoRuntime is a [Registry.Source] of the memory, garbage collector and goroutines of
// the Go runtime, under "ratelimit.go." (REFERENCE.md, 5.1). It reads runtime/metrics,
// which does not stop the world as runtime.ReadMemStats does.
func GoRuntime(to Reader) {
	value := readRuntime()
	for _, f := range runtimeStatistics {
		var sum uint64
		for _, metric := range f.of {
			sum += value[metric]
		}
		if f.counter {
			to.Counter(goPrefix+f.name, sum)
		} else {
			to.Gauge(goPrefix+f.name, sum)
		}
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	to.Counter(goPrefix+"pauseTotalNs", uint64(gc.PauseTotal))
	to.Gauge(goPrefix+"lastGC", uint64(max(gc.LastGC.UnixNano(), 0)))
}

func readRuntime() map[string]uint64 {
	var samples []metrics.Sample
	value := make(map[string]uint64)
	for _, f := range runtimeStatistics {
		for _, metric := range f.of {
			if _, ok := value[metric]; !ok {
				value[metric] = 0
				samples = append(samples, metrics.Sample{Name: metric})
			}
		}
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			value[s.Name] = s.Value.Uint64()
		}
	}
	return value
}
