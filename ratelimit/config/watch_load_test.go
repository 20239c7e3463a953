//go:build linux

package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// Goroutines decide during a thousand reloads. The two versions have different limits for
// the same keys, so that each decision shows its version: it must be that of one version
// only, none may fail, and memory, files and goroutines must not grow.
func TestThousandReloadsUnderLoad(t *testing.T) {
	const reloads = 1000
	before := measure(t)
	s := startLoad(t)
	done := make(chan struct{})
	var deciding sync.WaitGroup
	var decided [2]atomic.Int64
	for worker := range 2 {
		deciding.Go(func() { decide(t, s.engine, worker, done, &decided) })
	}
	var early usage
	for i := range uint32(reloads) {
		s.swap((i + 1) % 2)
		if i == reloads/10 {
			early = measure(t)
		}
	}
	close(done)
	deciding.Wait()
	assert.Greater(t, s.loads.Load(), int64(reloads))
	assert.NotZero(t, decided[0].Load())
	assert.NotZero(t, decided[1].Load())
	early.heap = before.heap // the early value included a running load
	noMoreThan(t, early, "after a thousand reloads")
	s.stop()
	noMoreThan(t, before, "after the end")
	runtime.KeepAlive(s)
}

// follower is an engine that follows a root with two versions.
type follower struct {
	t      *testing.T
	source config.Dir
	engine *ratelimit.Engine
	loads  atomic.Int64
	latest atomic.Uint32 // the limit that was loaded last
	signal chan struct{} // holds one signal after a load
	stop   func()
}

func startLoad(t *testing.T) *follower {
	t.Helper()
	dir := t.TempDir()
	s := &follower{
		t:      t,
		source: config.Dir{Root: filepath.Join(dir, "current"), AppDirectory: "config"},
		engine: ratelimit.MustNew(memstore.MustNew(nil), nil),
		signal: make(chan struct{}, 1),
	}
	for version := range uint32(2) {
		writeVersion(t, filepath.Join(dir, fmt.Sprint("v", version), "config"), version)
	}
	relink(t, "v0", s.source.Root)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		opts := &config.WatchOptions{Quiet: time.Microsecond, Poll: time.Hour}
		failed := func(err error) { t.Errorf("a load failed: %v", err) }
		assert.NoError(t, config.Watch(ctx, s.source, opts, s.loaded, failed))
	})
	s.stop = func() {
		cancel()
		watching.Wait()
	}
	t.Cleanup(s.stop)
	s.await(0)
	return s
}

func (s *follower) loaded(c *config.Config) {
	s.engine.Use(c.Ruleset)
	s.loads.Add(1)
	s.latest.Store(c.Domains[0].Rules[0].Limit.RequestsPerUnit)
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// swap makes a version the current one and waits until it is in use.
func (s *follower) swap(version uint32) {
	s.t.Helper()
	relink(s.t, fmt.Sprint("v", version), s.source.Root)
	s.await(version)
}

func (s *follower) await(version uint32) {
	s.t.Helper()
	for s.latest.Load() != limitOf(version) {
		select {
		case <-s.signal:
		case <-time.After(timeout):
			require.Fail(s.t, "the version is not loaded", "version %d", version)
		}
	}
}

// limitOf returns the limit of the first rule of a version; that of the second is one
// higher.
func limitOf(version uint32) uint32 { return 1_000_000_000 + 1000*version }

func writeVersion(t *testing.T, dir string, version uint32) {
	t.Helper()
	write(t, filepath.Join(dir, "load.yaml"), fmt.Sprintf(`
domain: load
descriptors:
  - {key: a, rate_limit: {unit: hour, requests_per_unit: %d, name: v%d}}
  - {key: b, rate_limit: {unit: hour, requests_per_unit: %d, name: v%d}}
`, limitOf(version), version, limitOf(version)+1, version))
	write(t, filepath.Join(dir, "other.yaml"), domain("other", 5))
}

// decide makes decisions until done, and counts them by version.
func decide(t *testing.T, engine *ratelimit.Engine, worker int, done <-chan struct{}, decided *[2]atomic.Int64) {
	value := fmt.Sprint("worker", worker)
	request := &ratelimit.Request{Domain: "load", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "a", Value: value}}},
		{Entries: []ratelimit.Entry{{Key: "b", Value: value}}},
	}}
	var d ratelimit.Decision
	for n := 1; ; n++ {
		if n%20 == 0 {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond): // the watch needs CPU time too
			}
		}
		if err := engine.DecideInto(context.Background(), request, &d); err != nil {
			t.Errorf("a decision failed: %v", err)
			return
		}
		a, b := &d.Statuses[0], &d.Statuses[1]
		version := (a.RequestsPerUnit - limitOf(0)) / 1000
		if d.Code != ratelimit.OK || version > 1 || a.RequestsPerUnit != limitOf(version) ||
			b.RequestsPerUnit != limitOf(version)+1 || a.Name != fmt.Sprint("v", version) || b.Name != a.Name {
			t.Errorf("the decision mixes versions: %v %+v", d.Code, d.Statuses)
			return
		}
		decided[version].Add(1)
	}
}

// usage describes the resources of the process.
type usage struct {
	goroutines, files int
	heap              uint64
}

func measure(t *testing.T) usage {
	t.Helper()
	// The first pollable file makes the runtime open some of its own.
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, writer.Close())
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	runtime.GC()
	runtime.GC() // the first one may leave what has a cleanup
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{runtime.NumGoroutine(), len(entries), m.HeapAlloc}
}

// noMoreThan waits for the usage to fall to earlier values: the last load may still be
// running. A leak does not go away.
func noMoreThan(t *testing.T, before usage, when string) {
	t.Helper()
	var now usage
	for deadline := time.Now().Add(timeout / 3); time.Now().Before(deadline); <-time.After(interval) {
		// The test itself uses some of the heap.
		now = measure(t)
		if now.goroutines <= before.goroutines && now.files <= before.files && now.heap < before.heap+heapSlack {
			return
		}
	}
	t.Errorf("leak %s: %+v, before %+v", when, now, before)
}

// heapSlack is a fraction of the size of a thousand rule sets.
const heapSlack = 1 << 20
