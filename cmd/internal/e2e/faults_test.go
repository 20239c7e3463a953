//go:build unix

package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

var allFaults = flag.Bool("faults", false, "run every fault of TestFaults at full length, and print a table")

const (
	// callers is the number of calls under way at once.
	callers = 64
	// exactLimit is the limit of the keys that are to reach it.
	exactLimit = 1000
)

// storeTimeout returns the KVSTORE_TIMEOUT of the servers. In the short form it is longer, because
// other tests run beside it.
func storeTimeout() time.Duration {
	if *allFaults {
		return 500 * time.Millisecond
	}
	return 3 * time.Second
}

const faultConfig = `domain: shop
descriptors:
  - key: exact
    rate_limit: {unit: year, requests_per_unit: 1000}
  - key: load
    rate_limit: {unit: year, requests_per_unit: 4000000000}
`

// faultKeys are the descriptors of the calls, key and value.
func faultKeys() (keys [][2]string) {
	for i := range 64 {
		key := "load"
		if i%16 == 0 {
			key = "exact"
		}
		keys = append(keys, [2]string{key, strconv.Itoa(i)})
	}
	return keys
}

// timedCall is a call, as times since the load began.
type timedCall struct {
	begin, end time.Duration
	key        int
	failed, ok bool // ok if it was admitted
}

// load is a number of callers, each with one call after the other.
type load struct {
	t       *testing.T
	s       *server
	began   time.Time
	calls   [callers][]timedCall
	keys    [][2]string
	stopped atomic.Bool
	all     sync.WaitGroup

	baseline, goroutines, memory int
}

// startFaultLoad starts a ratelimitd with these settings and the callers.
func startFaultLoad(t *testing.T, environ map[string]string) *load {
	t.Helper()
	all := map[string]string{"KVSTORE_TIMEOUT": storeTimeout().String(), "BACKEND_TYPE": "kvstore", "LOG_LEVEL": "error"}
	for key, value := range environ {
		all[key] = value
	}
	l := &load{t: t, s: serve(t, map[string]string{"shop.yaml": faultConfig}, all), keys: faultKeys(), began: time.Now()}
	for caller := range callers {
		client := ratelimitv3.NewRateLimitServiceClient(dial(t, l.s.grpc))
		l.all.Go(func() {
			for call := caller; !l.stopped.Load(); call++ {
				l.call(client, caller, call%len(l.keys))
			}
		})
	}
	t.Cleanup(l.stop)
	l.sleep(500 * time.Millisecond)
	l.baseline = l.countGoroutines()
	l.all.Go(l.sample)
	return l
}

func (l *load) call(client ratelimitv3.RateLimitServiceClient, caller, key int) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c := timedCall{begin: time.Since(l.began), key: key}
	out, err := client.ShouldRateLimit(ctx, newRequest("shop", l.keys[key][0], l.keys[key][1]))
	c.end, c.failed = time.Since(l.began), err != nil
	c.ok = out.GetOverallCode() == ratelimitv3.RateLimitResponse_OK
	l.calls[caller] = append(l.calls[caller], c)
}

// sleep lets the load run, and returns when on the clock of the load.
func (l *load) sleep(d time.Duration) time.Duration {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	return time.Since(l.began)
}

func (l *load) now() time.Duration { return time.Since(l.began) }

func (l *load) stop() {
	l.stopped.Store(true)
	l.all.Wait()
}

// sample records the largest number of goroutines and the largest memory of the server.
func (l *load) sample() {
	for !l.stopped.Load() {
		l.goroutines = max(l.goroutines, l.countGoroutines())
		l.memory = max(l.memory, l.s.memory())
		l.sleep(200 * time.Millisecond)
	}
}

var goroutineTotal = regexp.MustCompile(`total (\d+)`)

func (l *load) countGoroutines() int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
	res, err := client.Get("http://" + l.s.debug + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	n := 0
	if found := goroutineTotal.FindSubmatch(text); found != nil {
		n, _ = strconv.Atoi(string(found[1]))
	}
	return n
}

// outcome is a row of the table.
type outcome struct {
	name          string
	calls, failed int
	p99, recovery time.Duration
	before, most  int // goroutines
	memory        int
	exact         string
	failedKeys    map[int]int // how many calls failed, by key
	slowFail      time.Duration
}

// span has the begin and the end of a fault, on the clock of the load.
type span struct{ begin, end time.Duration }

// finish stops the load. Recovery is how long after the end of a fault the last call began that
// failed before the next fault. counters returns the counter of each key.
func (l *load) finish(faults []span, counters func() map[string]int) *outcome {
	l.t.Helper()
	l.stop()
	o := &outcome{before: l.baseline, most: l.goroutines, memory: l.memory, failedKeys: make(map[int]int)}
	sent, succeeded, admitted := make([]int, len(l.keys)), make([]int, len(l.keys)), make([]int, len(l.keys))
	var durations []time.Duration
	for _, calls := range l.calls {
		for _, c := range calls {
			o.calls++
			sent[c.key]++
			if !c.failed {
				succeeded[c.key]++
				durations = append(durations, c.end-c.begin)
				if c.ok {
					admitted[c.key]++
				}
				continue
			}
			o.failed++
			o.failedKeys[c.key]++
			o.slowFail = max(o.slowFail, c.end-c.begin)
			for i, f := range faults {
				if c.begin > f.end && (i+1 == len(faults) || c.end < faults[i+1].begin) {
					o.recovery = max(o.recovery, c.begin-f.end)
				}
			}
		}
	}
	slices.Sort(durations)
	o.p99 = durations[len(durations)*99/100]
	o.exact = l.compare(counters(), sent, succeeded, admitted)
	if o.failed > 0 {
		l.t.Logf("standard error: %s", l.s.stderr)
	}
	l.t.Log(o) // whether or not the outcome is good enough
	l.s.signal(syscall.SIGTERM)
	require.Zero(l.t, l.s.code(), "exit code of ratelimitd")
	return o
}

// compare compares the counters with the calls. Nothing may be counted twice, no call may have
// succeeded uncounted, and no more than the limit may be admitted.
func (l *load) compare(counters map[string]int, sent, succeeded, admitted []int) string {
	if counters == nil {
		return "-"
	}
	var wrong []string
	for i, key := range l.keys {
		name := "shop_" + key[0] + "_" + key[1] + "_"
		n := 0
		for counter, value := range counters {
			if strings.HasPrefix(counter, name) {
				n = value
			}
		}
		if n < succeeded[i] || n > sent[i] {
			wrong = append(wrong, fmt.Sprintf("%s: %d sent, %d succeeded, %d counted", name, sent[i], succeeded[i], n))
		}
		if key[0] == "exact" && admitted[i] > exactLimit {
			wrong = append(wrong, fmt.Sprintf("%s: %d admitted", name, admitted[i]))
		}
	}
	if wrong != nil {
		return strings.Join(wrong, "; ")
	}
	return "exact"
}

// counted reads all counters of servers.
func counted(t *testing.T, servers ...*redistest.Server) map[string]int {
	t.Helper()
	all := make(map[string]int)
	for _, s := range servers {
		client := s.Client()
		keys, err := client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			n, err := client.Get(t.Context(), key).Int()
			require.NoError(t, err)
			all[key] = n
		}
	}
	return all
}

// String returns the row of a Markdown table.
func (o *outcome) String() string {
	return fmt.Sprintf("| %s | %d | %d (%.3f %%) | %v | %v | %d to %d | %d MB | %s |", o.name, o.calls, o.failed,
		100*float64(o.failed)/float64(max(o.calls, 1)), o.p99.Round(100*time.Microsecond), o.recovery.Round(time.Millisecond), o.before, o.most, o.memory>>20, o.exact)
}

// faultRun has the number and distance of faults: few and close in the short form.
type faultRun struct {
	times int
	every time.Duration
}

func (f *faultRun) repeat(l *load, fault func()) (faults []span) {
	for range f.times {
		s := span{begin: l.now()}
		fault()
		s.end = l.now()
		faults = append(faults, s)
		l.sleep(f.every)
	}
	return faults
}

// TestFaults makes faults of the network and of stores while 64 calls are under way, in all: at once
// those that share a connection with one that broke may fail, and no others. Calls that failed may
// have been counted, once.
func TestFaults(t *testing.T) {
	run := &faultRun{times: 3, every: 300 * time.Millisecond}
	if *allFaults {
		run = &faultRun{times: 10, every: 2 * time.Second}
	}
	var rows []string
	for _, f := range []struct {
		name string
		long bool // not in the short form
		run  func(*testing.T, *faultRun) *outcome
	}{
		{"no fault", true, networkFault(func(*servertest.Proxy, *redistest.Server) {}, inFlight)},
		{"connections reset", false, networkFault(func(p *servertest.Proxy, _ *redistest.Server) { p.Reset() }, inFlight)},
		{"connections half-closed", true, networkFault(func(p *servertest.Proxy, _ *redistest.Server) { p.HalfClose() }, inFlight)},
		{"connections killed by Redis", true, networkFault(func(_ *servertest.Proxy, s *redistest.Server) { killConnections(t, s) }, inFlight)},
		{"link cut for 100 ms", false, networkFault(func(p *servertest.Proxy, _ *redistest.Server) {
			p.Cut()
			pause(100 * time.Millisecond)
			p.Restore()
		}, recoversAtOnce)},
		{"link cut for 1.5 s", true, networkFault(func(p *servertest.Proxy, _ *redistest.Server) {
			p.Cut()
			pause(1500 * time.Millisecond)
			p.Restore()
		}, recovers)},
		{"packets held for 200 ms", true, networkFault(lasting(servertest.Stall, 200*time.Millisecond), noFailure)},
		{"a byte every millisecond for 300 ms", true, networkFault(lasting(servertest.Trickle, 300*time.Millisecond), nil)},
		{"packets lost for 1 s", true, networkFault(lasting(servertest.Blackhole, time.Second), nil)},
		{"Redis stopped for 1 s", true, networkFault(func(_ *servertest.Proxy, s *redistest.Server) {
			s.Freeze()
			pause(time.Second)
			s.Thaw()
		}, recovers)},
		{"Redis restarted", false, restartRedis},
		{"sentinels promote the replica", true, sentinelFailover},
		{"cluster promotes a replica", true, clusterFailover},
		{"one of three masters hangs", false, hangingMaster},
		{"one of three memcached nodes hangs", true, hangingNode},
		{"memcached restarted", true, restartMemcached},
	} {
		if f.long && !*allFaults {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			o := f.run(t, run)
			o.name = f.name
			rows = append(rows, o.String())
		})
	}
	if *allFaults {
		fmt.Println("| Fault | Calls | Failed | p99 of the others | Recovery | Goroutines | Memory | Counters |\n|---|---|---|---|---|---|---|---|")
		fmt.Println(strings.Join(rows, "\n"))
	}
}

func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func lasting(f servertest.Fault, d time.Duration) func(*servertest.Proxy, *redistest.Server) {
	return func(p *servertest.Proxy, _ *redistest.Server) {
		p.Set(f)
		pause(d)
		p.Set(servertest.None)
	}
}

// killConnections has the server close all of its connections but that of the command.
func killConnections(t *testing.T, s *redistest.Server) {
	t.Helper()
	require.NoError(t, s.Client().ClientKillByFilter(t.Context(), "type", "normal", "skipme", "yes").Err())
}

// networkFault repeats a fault between ratelimitd and Redis.
func networkFault(fault func(*servertest.Proxy, *redistest.Server), check func(*testing.T, *faultRun, *outcome)) func(*testing.T, *faultRun) *outcome {
	return func(t *testing.T, run *faultRun) *outcome {
		server := redistest.Start(t, nil)
		p := servertest.NewProxy(t, server.Addr)
		l := startFaultLoad(t, map[string]string{"KVSTORE_URL": p.Addr})
		faults := run.repeat(l, func() { fault(p, server) })
		o := l.finish(faults, func() map[string]int { return counted(t, server) })
		require.Equal(t, "exact", o.exact)
		if check != nil {
			check(t, run, o)
		}
		return o
	}
}

// inFlight requires that only calls fail that were under way. At full length that is a share of all.
func inFlight(t *testing.T, run *faultRun, o *outcome) {
	t.Helper()
	require.LessOrEqual(t, o.failed, callers*run.times, "calls that were under way")
	if *allFaults {
		require.LessOrEqual(t, float64(o.failed)/float64(o.calls), 0.003)
	}
}

// backAfter is until when a call may begin and fail once the store responds again. The short form
// runs beside other tests.
func backAfter(most time.Duration) time.Duration {
	if *allFaults {
		return most
	}
	return 10 * most
}

// recovers requires that an outage ends within 200 ms of the first reply of the store.
func recovers(t *testing.T, _ *faultRun, o *outcome) {
	t.Helper()
	require.LessOrEqual(t, o.recovery, backAfter(200*time.Millisecond))
}

// recoversAtOnce is for outages that are shorter than the evidence of a breaker.
func recoversAtOnce(t *testing.T, run *faultRun, o *outcome) {
	t.Helper()
	require.LessOrEqual(t, o.recovery, backAfter(100*time.Millisecond))
	if *allFaults {
		inFlight(t, run, o)
	}
}

func noFailure(t *testing.T, _ *faultRun, o *outcome) {
	t.Helper()
	require.Zero(t, o.failed)
}

func restartRedis(t *testing.T, run *faultRun) *outcome {
	server := redistest.Start(t, &redistest.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "no"}})
	l := startFaultLoad(t, map[string]string{"KVSTORE_URL": server.Addr})
	faults := run.repeat(l, func() {
		server.Kill()
		pause(700 * time.Millisecond)
		server.Restart()
	})
	o := l.finish(faults, func() map[string]int { return counted(t, server) })
	require.Equal(t, "exact", o.exact)
	recovers(t, run, o)
	return o
}

// promotion waits until the server is a master.
func promotion(t *testing.T, l *load, s *redistest.Server) time.Duration {
	t.Helper()
	client := s.Client()
	eventually(t, "the replica is promoted", func() bool {
		role, err := client.Do(t.Context(), "role").Slice()
		return err == nil && len(role) > 0 && role[0] == "master"
	})
	return l.now()
}

// failover checks a promotion. Replicas may lag behind, so what was counted last may be lost.
func failover(t *testing.T, l *load, promoted *redistest.Server) *outcome {
	t.Helper()
	end := promotion(t, l, promoted)
	l.sleep(3 * time.Second)
	o := l.finish([]span{{end: end}}, func() map[string]int { return nil })
	require.LessOrEqual(t, o.recovery, backAfter(time.Second))
	return o
}

func sentinelFailover(t *testing.T, _ *faultRun) *outcome {
	group := redistest.StartSentinel(t, nil, "")
	l := startFaultLoad(t, map[string]string{"KVSTORE_TYPE": "sentinel", "KVSTORE_URL": group.Name + "," + strings.Join(group.Addrs, ",")})
	group.Servers[0].Freeze()
	defer group.Servers[0].Thaw()
	return failover(t, l, group.Servers[1])
}

func clusterFailover(t *testing.T, _ *faultRun) *outcome {
	c := redistest.StartCluster(t, 3, true, nil)
	l := startFaultLoad(t, map[string]string{"KVSTORE_TYPE": "cluster", "KVSTORE_URL": strings.Join(c.Addrs(), ",")})
	c.Masters[0].Freeze()
	defer c.Masters[0].Thaw()
	return failover(t, l, c.Replicas[0])
}

// hangingMaster requires that only calls for the master that hangs fail, within the timeout.
func hangingMaster(t *testing.T, run *faultRun) *outcome {
	c := redistest.StartCluster(t, 3, false, nil)
	l := startFaultLoad(t, map[string]string{"KVSTORE_TYPE": "cluster", "KVSTORE_URL": strings.Join(c.Addrs(), ",")})
	c.Masters[0].Freeze()
	l.sleep(4 * time.Second) // after five the others suspend service
	c.Masters[0].Thaw()
	end := l.now()
	l.sleep(time.Second)
	o := l.finish([]span{{end: end}}, func() map[string]int { return counted(t, c.Masters...) })
	require.Equal(t, "exact", o.exact)
	hanging := counted(t, c.Masters[0])
	for key, failed := range o.failedKeys {
		name := fmt.Sprintf("shop_%s_%s_%d", l.keys[key][0], l.keys[key][1], ratelimit.Year.Window(time.Now().Unix()))
		require.Contains(t, hanging, name, "%d calls for another master failed", failed)
	}
	require.LessOrEqual(t, o.slowFail, backAfter(storeTimeout()+100*time.Millisecond))
	require.LessOrEqual(t, o.most-o.before, 100, "more goroutines")
	recovers(t, run, o)
	return o
}

// startMemcached returns nodes, and the settings for them.
func startMemcached(t *testing.T, count int) (nodes []*memcachetest.Server, environ map[string]string) {
	t.Helper()
	var addrs []string
	for range count {
		node := memcachetest.Start(t, nil)
		nodes, addrs = append(nodes, node), append(addrs, node.Addr)
	}
	return nodes, map[string]string{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": strings.Join(addrs, ",")}
}

func hangingNode(t *testing.T, run *faultRun) *outcome {
	nodes, environ := startMemcached(t, 3)
	l := startFaultLoad(t, environ)
	nodes[0].Freeze()
	l.sleep(run.every * time.Duration(run.times) / 2)
	nodes[0].Thaw()
	end := l.now()
	l.sleep(time.Second)
	o := l.finish([]span{{end: end}}, func() map[string]int { return nil })
	for key, failed := range o.failedKeys {
		name := fmt.Sprintf("shop_%s_%s_%d", l.keys[key][0], l.keys[key][1], ratelimit.Year.Window(time.Now().Unix()))
		require.Empty(t, nodes[1].Value(name)+nodes[2].Value(name), "%d calls for another node failed", failed)
	}
	require.LessOrEqual(t, o.most-o.before, 100, "more goroutines")
	recovers(t, run, o)
	return o
}

func restartMemcached(t *testing.T, run *faultRun) *outcome {
	nodes, environ := startMemcached(t, 1)
	l := startFaultLoad(t, environ)
	faults := run.repeat(l, func() {
		nodes[0].Kill()
		pause(700 * time.Millisecond)
		nodes[0].Restart()
	})
	o := l.finish(faults, func() map[string]int { return nil })
	recovers(t, run, o)
	return o
}
