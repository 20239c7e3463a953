package statsd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func newWriter(t testing.TB, r *stats.Registry, w interface{ Write([]byte) (int, error) }, opts *statsd.Options) *statsd.Sink {
	t.Helper()
	s, err := statsd.NewWriter(r, w, opts)
	require.NoError(t, err)
	return s
}

func ExampleNewWriter() {
	registry := stats.New(nil)
	sink, err := statsd.NewWriter(registry, os.Stdout, &statsd.Options{
		Tags: []stats.Tag{{Name: "zone", Value: "a"}},
		Now:  func() time.Time { return time.Unix(1_700_000_000, 250_000) },
	})
	if err != nil {
		log.Fatal(err)
	}
	registry.Counter("ratelimit.service.config_load_success").Add(2)
	registry.Counter("ratelimit.service.config_load_error")
	ctx, stop := context.WithCancel(context.Background())
	stop() // the last flush is the only one
	if err := sink.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"level":"debug","ts":1700000000.000250,"logger":"ratelimit.stats","msg":"flushing counter","json":{"name":"ratelimit.service.config_load_success.__zone=a","type":"counter","value":"2.000000"}}
	// {"level":"debug","ts":1700000000.000250,"logger":"ratelimit.stats","msg":"flushing all stats","json":{"type":"all stats","value":"0.000000"}}
}

// entry is one JSON line.
type entry struct {
	Level, Logger, Msg string
	TS                 float64
	JSON               struct{ Name, Type, Value, Rate string }
}

func (s entry) String() string {
	text := strings.TrimSuffix(s.JSON.Value, ".000000") + " " + s.JSON.Type
	if s.JSON.Name != "" {
		text = s.JSON.Name + " " + text
	}
	if s.JSON.Rate != "" {
		text += " @" + s.JSON.Rate
	}
	return text
}

// parse reads lines, each of which must be a JSON object; an unterminated one is ignored.
func parse(t testing.TB, text string) []entry {
	t.Helper()
	var all []entry
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var s entry
		require.NoError(t, json.Unmarshal([]byte(line), &s), "%s", line)
		all = append(all, s)
	}
	return all
}

func texts(all []entry) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.String())
	}
	return out
}

// The gauge of a limit is sent when it changes, and else every ten minutes: there may be thousands of them.
func TestGaugesOfLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stats.New(nil)
		var out logtest.Log
		stop := run(t, newWriter(t, r, &out, nil))
		g := r.Gauge(stats.LimitPrefix + "d.k.limit")
		g.Set(7)
		sent := func(flushes int) int {
			before := len(out.String())
			time.Sleep(time.Duration(flushes) * 10 * time.Second)
			synctest.Wait()
			return strings.Count(out.String()[before:], "d.k.limit")
		}
		require.Equal(t, 1, sent(1))
		require.Zero(t, sent(50))
		g.Set(8)
		require.Equal(t, 1, sent(2))
		require.Equal(t, 2, sent(120))
		stop()
	})
}

func TestFlushesByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stats.New(nil)
		var out logtest.Log
		stop := run(t, newWriter(t, r, &out, nil))
		next := func(wait time.Duration) []string {
			before := len(out.String())
			time.Sleep(wait)
			synctest.Wait()
			return texts(parse(t, out.String()[before:]))
		}
		c, g := r.Counter("c"), r.Gauge("g")
		c.Add(3)
		r.Counter("zero")
		g.Set(7)
		r.Timer("t").Record(12_900 * time.Microsecond)
		require.Empty(t, next(9*time.Second), "the interval is 10 seconds by default")
		require.Equal(t, []string{"c 3 counter", "g 7 gauge", "t 12 timer", "0 all stats"}, next(2*time.Second))
		require.Equal(t, []string{"g 7 gauge", "0 all stats"}, next(10*time.Second), "an unchanged counter is not sent, a gauge always is")
		c.Add(1)
		c.Add(1)
		g.Add(-2)
		require.Equal(t, []string{"c 2 counter", "g 5 gauge", "0 all stats"}, next(10*time.Second), "the delta of a counter is sent")
		c.Add(5)
		r.Timer("t").Record(0)
		before := len(out.String())
		stop()
		require.Equal(t, []string{"c 5 counter", "g 5 gauge", "t 0 timer", "0 all stats"}, texts(parse(t, out.String()[before:])), "the last flush")
	})
}

func TestWriterLinesAreEscaped(t *testing.T) {
	r := stats.New(nil)
	r.Gauge("quo\"te\\\n{\"level\":\"x\"}\xff.é").Set(1)
	var out bytes.Buffer
	flushOnce(t, newWriter(t, r, &out, nil))
	require.Equal(t, "quo\"te\\_{\"level\"_\"x\"}\ufffd.é", parse(t, out.String())[0].JSON.Name)
}

var errDisk = errors.New("no space left on device")

// flakyWriter accepts some bytes of some writes and then fails.
type flakyWriter struct {
	random *rand.Rand
	whole  []string     // the accepted whole lines
	fails  atomic.Int64 // the failures that remain
}

func (f *flakyWriter) Write(p []byte) (int, error) {
	n := len(p)
	if f.fails.Load() > 0 && f.random.IntN(2) == 0 {
		f.fails.Add(-1)
		n = f.random.IntN(len(p) + 1)
	}
	accepted := string(p[:n])
	f.whole = append(f.whole, accepted[:strings.LastIndexByte(accepted, '\n')+1])
	if n < len(p) {
		return n, errDisk
	}
	return n, nil
}

// Whatever part of each write is accepted, nothing is lost or sent twice.
func TestNothingIsLostOrSentTwice(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := &flakyWriter{random: rand.New(rand.NewPCG(seed, 2))}
			w.fails.Store(40)
			r := stats.New(nil)
			stop := run(t, newWriter(t, r, w, &statsd.Options{FlushInterval: time.Second, MaxTimerLines: 50, Log: discard()}))
			counted, calls := map[string]uint64{}, map[string]float64{}
			for range 100 {
				for range random.IntN(400) {
					name, n := "c"+strconv.Itoa(random.IntN(300)), random.Uint64N(10)
					r.Counter(name).Add(n)
					counted[name] += n
				}
				for range random.IntN(200) {
					name := "t" + strconv.Itoa(random.IntN(2))
					r.Timer(name).Record(time.Duration(random.IntN(3000)) * time.Millisecond)
					calls[name]++
				}
				time.Sleep(time.Second)
			}
			w.fails.Store(0)
			time.Sleep(time.Minute)
			stop()
			gotCounted, gotCalls := map[string]uint64{}, map[string]float64{}
			for _, s := range parse(t, strings.Join(w.whole, "")) {
				value, err := strconv.ParseFloat(s.JSON.Value, 64)
				require.NoError(t, err)
				switch s.JSON.Type {
				case "counter":
					gotCounted[s.JSON.Name] += uint64(value)
				case "timer":
					gotCalls[s.JSON.Name] += 1 / rateOf(t, s)
				}
			}
			for name, n := range counted {
				if n == 0 {
					delete(counted, name)
				}
			}
			require.Equal(t, counted, gotCounted)
			require.Len(t, gotCalls, len(calls))
			for name, n := range calls {
				// A line of an interrupted sample represents one call more or less.
				require.InDelta(t, n, gotCalls[name], 45, name)
			}
		})
	}
}

func rateOf(t testing.TB, s entry) float64 {
	if s.JSON.Rate == "" {
		return 1
	}
	rate, err := strconv.ParseFloat(s.JSON.Rate, 64)
	require.NoError(t, err)
	return rate
}

// A failure is logged once when it begins and once when it ends, however many flushes
// fail, and attempts become rarer.
func TestFailuresAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Log
		var out faultyWriter
		out.failing.Store(true)
		r := stats.New(nil)
		run(t, newWriter(t, r, &out, &statsd.Options{FlushInterval: time.Second, Log: log.Logger()}))
		r.Counter("c").Add(1)
		time.Sleep(10*time.Minute + time.Second/2)
		synctest.Wait()
		require.Equal(t, 1, log.Count("\n"), log.String())
		require.Contains(t, log.String(), "statistics cannot be sent")
		require.Contains(t, log.String(), errDisk.Error())
		require.Greater(t, out.tries.Load(), int64(15))
		require.Less(t, out.tries.Load(), int64(60), "tried too often in ten minutes")
		r.Counter("c").Add(1)
		out.failing.Store(false)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.Contains(t, texts(parse(t, out.String())), "c 2 counter")
		require.Equal(t, 2, log.Count("\n"), log.String())
		require.Contains(t, log.String(), "can be sent again")
	})
}

func failing() *faultyWriter {
	w := new(faultyWriter)
	w.failing.Store(true)
	return w
}

// A loss is a warning only if something was lost and a receiver was there before.
func TestLossIsLoggedAtTheEnd(t *testing.T) {
	const lost = "the last statistics could not be sent and are lost"
	unreachable := func(r *stats.Registry, log *logtest.Log, network string) *statsd.Sink {
		return newPlain(t, r, freePort(t), &statsd.Options{Network: network, Log: log.Logger()})
	}
	t.Run("something", func(t *testing.T) {
		var log logtest.Log
		r := stats.New(nil)
		s := newWriter(t, r, failing(), &statsd.Options{Log: log.Logger()})
		r.Counter("c").Add(3)
		r.Timer("t").Record(time.Second)
		flushOnce(t, s)
		require.Equal(t, 1, log.Count("\n"), log.String())
		require.Contains(t, log.String(), "level=WARN")
		require.Contains(t, log.String(), lost)
		require.Contains(t, log.String(), "counts=3 calls=1")
	})
	t.Run("nothing", func(t *testing.T) {
		var log logtest.Log
		r := stats.New(nil)
		r.Gauge("g").Set(1)
		flushOnce(t, newWriter(t, r, failing(), &statsd.Options{Log: log.Logger()}))
		require.Empty(t, log.String())
	})
	for _, network := range []string{"tcp", "udp"} {
		t.Run("no daemon over "+network, func(t *testing.T) {
			var log logtest.Log
			r := stats.New(nil)
			r.Counter("c").Add(3)
			flushOnce(t, unreachable(r, &log, network))
			require.Contains(t, log.String(), "level=INFO")
			require.Contains(t, log.String(), lost)
			require.NotContains(t, log.String(), "level=WARN")
		})
	}
}

// faultyWriter is a log that can be made to fail.
type faultyWriter struct {
	logtest.Log
	failing atomic.Bool
	tries   atomic.Int64
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	w.tries.Add(1)
	if w.failing.Load() {
		return 0, errDisk
	}
	return w.Log.Write(p)
}

// The sink forgets what the registry has forgotten, but not before it was sent.
func TestForgottenNames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	for i := range 100 {
		r.Limit(fmt.Sprintf("d.k%d", i))
		r.Release(fmt.Sprintf("d.k%d", i))
	}
	totals := map[string]uint64{"sent.once": 5}
	r.Source(func(to stats.Reader) {
		for name, n := range totals {
			to.Counter(name, n)
		}
	})
	var out faultyWriter
	s := newWriter(t, r, &out, &statsd.Options{Log: discard()})
	s.Flush()
	require.Equal(t, 1, s.Retained(), "limits that count nothing have no state")
	require.Contains(t, texts(parse(t, out.String())), "sent.once 5 counter")

	out.failing.Store(true)
	totals = map[string]uint64{"sent.late": 7}
	s.Flush()
	totals = nil
	now = now.Add(2 * time.Minute)
	s.Flush()
	require.Equal(t, 1, s.Retained(), "only the forgotten name that was not sent is retained")

	out.failing.Store(false)
	s.Flush()
	s.Flush()
	require.Zero(t, s.Retained())
	require.Contains(t, texts(parse(t, out.String())), "sent.late 7 counter", "the count of a forgotten name must be sent")

	totals = map[string]uint64{"sent.late": 2} // a new counter of an old name begins at 0
	before := len(out.String())
	s.Flush()
	require.Equal(t, []string{"sent.late 2 counter", "0 all stats"}, texts(parse(t, out.String()[before:])))
	totals = map[string]uint64{"sent.late": 1}
	before = len(out.String())
	s.Flush()
	require.Equal(t, []string{"sent.late 1 counter", "0 all stats"}, texts(parse(t, out.String()[before:])), "recreated between two readings")
}

// Names that are forgotten while nothing can be sent do not accumulate memory.
func TestForgottenNamesAreBounded(t *testing.T) {
	r := stats.New(nil)
	round := 0
	r.Source(func(to stats.Reader) {
		for i := range 3000 {
			to.Counter(fmt.Sprintf("%d.%d", round, i), 1)
		}
	})
	var log logtest.Log
	var out faultyWriter
	out.failing.Store(true)
	s := newWriter(t, r, &out, &statsd.Options{Log: log.Logger()})
	for round = range 10 {
		s.Flush()
		require.LessOrEqual(t, s.Retained(), statsd.MaxForgotten+3000)
	}
	require.Equal(t, statsd.MaxForgotten+3000, s.Retained())
	out.failing.Store(false)
	s.Flush()
	s.Flush()
	require.Equal(t, 3000, s.Retained())
	require.Contains(t, log.String(), "counts_lost_with_forgotten_names=17000")
}
