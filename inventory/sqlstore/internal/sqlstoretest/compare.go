package sqlstoretest

import (
	"testing"
	"time"
)

// compare runs both by turns: x-floor is the ratio of the time that they take, and cpu-x-floor
// that of the time that this process computes for them, where the system tells it.
func compare(b *testing.B, one, floor func()) {
	b.Helper()
	var wall, cpu [2]time.Duration
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i := range 2 {
			which := (n + i) % 2 // the second finds what it needs in caches
			run := [...]func(){one, floor}[which]
			begin, used := time.Now(), computed(b)
			run()
			wall[which] += time.Since(begin)
			cpu[which] += computed(b) - used
		}
	}
	b.ReportMetric(float64(wall[0].Microseconds())/float64(b.N), "us-store")
	b.ReportMetric(float64(wall[0])/float64(wall[1]), "x-floor")
	if cpu[1] > 0 {
		b.ReportMetric(float64(cpu[0].Microseconds())/float64(b.N), "cpu-us-store")
		b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "cpu-x-floor")
	}
}
