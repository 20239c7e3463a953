package stats

import (
	"runtime/debug"
	"runtime/metrics"
)

const goPrefix = "ratelimit.go."

// Classes of memory that several figures are made of.
const (
	heapObjects  = "/memory/classes/heap/objects:bytes"
	heapUnused   = "/memory/classes/heap/unused:bytes"
	heapFree     = "/memory/classes/heap/free:bytes"
	heapReleased = "/memory/classes/heap/released:bytes"
)

// runtimeFigures says which metrics of the runtime add up to which statistic.
var runtimeFigures = []struct {
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

// GoRuntime is a [Registry.Source] of the Go runtime's memory, collector and
// goroutines, under "ratelimit.go." (reference 1.14). It reads runtime/metrics, which
// stops no goroutine; the reference service stops them all for it.
func GoRuntime(to Reader) {
	value := readRuntime()
	for _, f := range runtimeFigures {
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
	for _, f := range runtimeFigures {
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
