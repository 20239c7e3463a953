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

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

func newWriter(t testing.TB, r *stats.Registry, w interface{ Write([]byte) (int, error) }, opts *statsd.WriterOptions) *statsd.Sink {
	t.Helper()
	s, err := statsd.NewWriter(r, w, opts)
	require.NoError(t, err)
	return s
}

func ExampleNewWriter() {
	registry := stats.New(nil)
	sink, err := statsd.NewWriter(registry, os.Stdout, &statsd.WriterOptions{
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

// said is one line of the form for a log.
type said struct {
	Level, Logger, Msg string
	TS                 float64
	JSON               struct{ Name, Type, Value, Rate string }
}

func (s said) String() string {
	text := strings.TrimSuffix(s.JSON.Value, ".000000") + " " + s.JSON.Type
	if s.JSON.Name != "" {
		text = s.JSON.Name + " " + text
	}
	if s.JSON.Rate != "" {
		text += " @" + s.JSON.Rate
	}
	return text
}

// parse reads lines, each of which must be a JSON object, and leaves an unfinished
// one out.
func parse(t testing.TB, text string) []said {
	t.Helper()
	var all []said
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var s said
		require.NoError(t, json.Unmarshal([]byte(line), &s), "%s", line)
		all = append(all, s)
	}
	return all
}

func texts(all []said) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.String())
	}
	return out
}

func TestFlushesByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stats.New(nil)
		var out journal
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
		require.Equal(t, []string{"g 7 gauge", "0 all stats"}, next(10*time.Second), "a counter that stands still is not sent, a gauge always is")
		c.Add(1)
		c.Add(1)
		g.Add(-2)
		require.Equal(t, []string{"c 2 counter", "g 5 gauge", "0 all stats"}, next(10*time.Second), "a counter is sent as what it has grown by")
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

// flaky takes some bytes of some writes and then fails.
type flaky struct {
	random *rand.Rand
	whole  []string     // what was taken in whole lines
	fails  atomic.Int64 // how often it may still fail
}

func (f *flaky) Write(p []byte) (int, error) {
	n := len(p)
	if f.fails.Load() > 0 && f.random.IntN(2) == 0 {
		f.fails.Add(-1)
		n = f.random.IntN(len(p) + 1)
	}
	taken := string(p[:n])
	f.whole = append(f.whole, taken[:strings.LastIndexByte(taken, '\n')+1])
	if n < len(p) {
		return n, errDisk
	}
	return n, nil
}

// Whatever is taken of each write, nothing is lost and nothing told twice.
func TestNothingIsLostOrToldTwice(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := &flaky{random: rand.New(rand.NewPCG(seed, 2))}
			w.fails.Store(40)
			r := stats.New(nil)
			stop := run(t, newWriter(t, r, w, &statsd.WriterOptions{FlushInterval: time.Second, MaxTimerLines: 50, Log: quiet()}))
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
				// A line of a sample that was cut short stands for one call more or less.
				require.InDelta(t, n, gotCalls[name], 45, name)
			}
		})
	}
}

func rateOf(t testing.TB, s said) float64 {
	if s.JSON.Rate == "" {
		return 1
	}
	rate, err := strconv.ParseFloat(s.JSON.Rate, 64)
	require.NoError(t, err)
	return rate
}

// The log hears of an outage once, and of its end, however many flushes fail; and
// attempts become rarer.
func TestOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var out door
		out.shut.Store(true)
		r := stats.New(nil)
		run(t, newWriter(t, r, &out, &statsd.WriterOptions{FlushInterval: time.Second, Log: log.logger()}))
		r.Counter("c").Add(1)
		time.Sleep(10*time.Minute + time.Second/2)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "statistics cannot be sent")
		require.Contains(t, log.String(), errDisk.Error())
		require.Greater(t, out.tries.Load(), int64(15))
		require.Less(t, out.tries.Load(), int64(60), "tried too often in ten minutes")
		r.Counter("c").Add(1)
		out.shut.Store(false)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.Contains(t, texts(parse(t, out.String())), "c 2 counter")
		require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "can be sent again")
	})
}

func TestLastFlushThatFailsIsLogged(t *testing.T) {
	var log journal
	var out door
	out.shut.Store(true)
	flushOnce(t, newWriter(t, stats.New(nil), &out, &statsd.WriterOptions{Log: log.logger()}))
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "last statistics")
}

// door is a place to write to that can be shut.
type door struct {
	journal
	shut  atomic.Bool
	tries atomic.Int64
}

func (d *door) Write(p []byte) (int, error) {
	d.tries.Add(1)
	if d.shut.Load() {
		return 0, errDisk
	}
	return d.journal.Write(p)
}

// What the registry forgets leaves the sink, but not before it has been told.
func TestForgottenNames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	for i := range 100 {
		r.Limit(fmt.Sprintf("d.k%d", i))
		r.Release(fmt.Sprintf("d.k%d", i))
	}
	tell := map[string]uint64{"told.once": 5}
	r.Source(func(to stats.Reader) {
		for name, n := range tell {
			to.Counter(name, n)
		}
	})
	var out door
	s := newWriter(t, r, &out, &statsd.WriterOptions{Log: quiet()})
	s.Flush()
	require.Equal(t, 601, s.Remembered())
	require.Contains(t, texts(parse(t, out.String())), "told.once 5 counter")

	out.shut.Store(true)
	tell = map[string]uint64{"told.late": 7}
	s.Flush()
	tell = nil
	now = now.Add(2 * time.Minute)
	s.Flush()
	require.Equal(t, 1, s.Remembered(), "names that the registry has forgotten, but for the one that is still owed")

	out.shut.Store(false)
	s.Flush()
	s.Flush()
	require.Zero(t, s.Remembered())
	require.Contains(t, texts(parse(t, out.String())), "told.late 7 counter", "the name is gone, its count must not be")

	tell = map[string]uint64{"told.late": 2} // a new counter of an old name begins at 0
	before := len(out.String())
	s.Flush()
	require.Equal(t, []string{"told.late 2 counter", "0 all stats"}, texts(parse(t, out.String()[before:])))
	tell = map[string]uint64{"told.late": 1}
	before = len(out.String())
	s.Flush()
	require.Equal(t, []string{"told.late 1 counter", "0 all stats"}, texts(parse(t, out.String()[before:])), "begun anew between two readings")
}

// Names that come and go while nothing can be sent are not kept without bound.
func TestForgottenNamesInAnOutageAreBounded(t *testing.T) {
	r := stats.New(nil)
	round := 0
	r.Source(func(to stats.Reader) {
		for i := range 3000 {
			to.Counter(fmt.Sprintf("%d.%d", round, i), 1)
		}
	})
	var log journal
	var out door
	out.shut.Store(true)
	s := newWriter(t, r, &out, &statsd.WriterOptions{Log: log.logger()})
	for round = range 10 {
		s.Flush()
		require.LessOrEqual(t, s.Remembered(), statsd.MaxOrphans+3000)
	}
	require.Equal(t, statsd.MaxOrphans+3000, s.Remembered())
	out.shut.Store(false)
	s.Flush()
	s.Flush()
	require.Equal(t, 3000, s.Remembered())
	require.Contains(t, log.String(), "counts_lost_with_forgotten_names=17000")
}
