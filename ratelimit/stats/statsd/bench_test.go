package statsd_test

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// BenchmarkRecord measures a timer without a sink, with one that was discarded, and the
// atomic addition that is the minimum.
func BenchmarkRecord(b *testing.B) {
	bare := new(atomic.Uint64)
	both := func(name string, record func(time.Duration)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				record(300 * time.Microsecond)
			}
		})
		b.Run(name+"-parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					record(300 * time.Microsecond)
				}
			})
		})
	}
	both("atomic", func(time.Duration) { bare.Add(1) })
	both("off", stats.New(nil).Timer("t").Record)
	r := stats.New(nil)
	newWriter(b, r, io.Discard, nil)
	both("on", r.Timer("t").Record)
}

// BenchmarkFlush60000 sends 60,000 counters that have all changed. Over UDP the time is
// that of the waits for refusals.
func BenchmarkFlush60000(b *testing.B) {
	for _, network := range []string{"discard", "tcp", "udp"} {
		b.Run(network, func(b *testing.B) {
			r, names := moving(60_000)
			s := benchSink(b, network, r)
			defer s.Close()
			s.Flush() // creates the labels
			b.ReportAllocs()
			for b.Loop() {
				names.Add(1)
				s.Flush()
			}
		})
	}
}

// moving returns a registry of n counters with the same, returned value.
func moving(n int) (*stats.Registry, *atomic.Uint64) {
	r, total := stats.New(nil), new(atomic.Uint64)
	total.Store(1)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("ratelimit.service.rate_limit.mongo_cps.database_users.remote_address_10_0_%d_%d.total_hits", i/256, i%256)
	}
	r.Source(func(to stats.Reader) {
		now := total.Load()
		for _, name := range names {
			to.Counter(name, now)
		}
	})
	return r, total
}

func benchSink(b testing.TB, network string, r *stats.Registry) *statsd.Sink {
	b.Helper()
	switch network {
	case "tcp":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		b.Cleanup(func() { l.Close() })
		go func() {
			if c, err := l.Accept(); err == nil {
				io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		return newPlain(b, r, l.Addr().String(), nil)
	case "udp":
		l, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(b, err)
		b.Cleanup(func() { l.Close() })
		return newPlain(b, r, l.LocalAddr().String(), &statsd.Options{Network: "udp"})
	}
	return newWriter(b, r, io.Discard, nil)
}

// The allocations of a flush do not depend on the number of statistics.
func TestFlushAllocations(t *testing.T) {
	r, total := moving(6000)
	s := newWriter(t, r, io.Discard, nil)
	s.Flush()
	allocs := testing.AllocsPerRun(10, func() {
		total.Add(1)
		s.Flush()
	})
	require.Less(t, allocs, 100.0)
}
