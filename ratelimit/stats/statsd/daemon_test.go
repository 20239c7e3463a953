package statsd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// program finds the statsd daemon, stats.js, and node. Without them the test is skipped,
// or fails if ASHLAR_REQUIRE_SERVICES is 1.
func program(t *testing.T) (node, script string) {
	t.Helper()
	missing := func(what string, args ...any) {
		what = "NO STATSD DAEMON, so nothing here is tested against a real one: " + fmt.Sprintf(what, args...)
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not on PATH")
	}
	dir := os.Getenv("ASHLAR_STATSD_DIR")
	if dir == "" {
		path, err := exec.LookPath("statsd")
		if err != nil {
			missing("ASHLAR_STATSD_DIR, the directory of its package, is not set, and no statsd is on PATH")
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			missing("%v", err)
		}
		dir = filepath.Dir(path)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} { // the command may be in the directory bin
		if script = filepath.Join(d, "stats.js"); exists(script) {
			return node, script
		}
	}
	missing("no stats.js in %s", dir)
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// recorder is a backend of the daemon that prints each of its flushes.
const recorder = `exports.init = function (started, config, events) {
  events.on('flush', function (time, m) {
    console.log('FLUSH ' + JSON.stringify({Counters: m.counters, Timers: m.timers, TimerData: m.timer_data}));
  });
  return true;
};`

// daemon is a running statsd.
type daemon struct {
	addr, mgmt string
	kill       func()

	mu      sync.Mutex
	flushes []flushed
	log     strings.Builder
}

// flushed is a line of the recorder.
type flushed struct {
	Counters  map[string]float64
	Timers    map[string][]float64
	TimerData map[string]struct{ Count float64 }
}

// startDaemon starts a daemon that flushes at an interval, at addr or on a free port.
func startDaemon(t *testing.T, addr string, every time.Duration) *daemon {
	t.Helper()
	node, script := program(t)
	for range 10 { // another process may use a free port before the daemon does
		d := &daemon{addr: addr, mgmt: freePort(t)}
		if d.addr == "" {
			d.addr = freePort(t)
		}
		if d.start(t, node, script, every) {
			t.Cleanup(d.kill)
			return d
		}
		t.Logf("the daemon did not start on %s: %s", d.addr, d.text())
	}
	t.Fatal("the daemon does not start")
	return nil
}

// freePort returns an address that is free for TCP and UDP.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", loopback())
		require.NoError(t, err)
		addr := l.Addr().String()
		p, err := net.ListenPacket("udp", addr)
		l.Close()
		if err == nil {
			p.Close()
			return addr
		}
	}
	t.Fatal("no port is free for both TCP and UDP")
	return ""
}

func host(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func (d *daemon) start(t *testing.T, node, script string, every time.Duration) bool {
	t.Helper()
	dir := t.TempDir()
	backend, config := filepath.Join(dir, "recorder.js"), filepath.Join(dir, "config.js")
	require.NoError(t, os.WriteFile(backend, []byte(recorder), 0o600))
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
  port: %[2]s, address: %[1]q, mgmt_port: %[4]s, mgmt_address: %[3]q,
  servers: [{server: "./servers/tcp", port: %[2]s, address: %[1]q}, {server: "./servers/udp", port: %[2]s, address: %[1]q}],
  backends: [%[5]q], flushInterval: %[6]d, graphiteHost: ""
}`, host(d.addr), port(d.addr), host(d.mgmt), port(d.mgmt), backend, every.Milliseconds()), 0o600))
	cmd := exec.Command(node, script, config)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.read(out)
		cmd.Wait() // killed, so it is an error
	}()
	d.kill = sync.OnceFunc(func() {
		cmd.Process.Kill() // fails only if it has ended
		<-ended
	})
	if d.listens(ended) {
		return true
	}
	d.kill()
	return false
}

// listens waits until the daemon accepts connections, or has ended.
func (d *daemon) listens(ended <-chan struct{}) bool {
	for {
		tcp, err := net.Dial("tcp", d.addr)
		if err == nil {
			tcp.Close()
			if tcp, err = net.Dial("tcp", d.mgmt); err == nil {
				tcp.Close()
				return true
			}
		}
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (d *daemon) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		d.mu.Lock()
		if text, ok := strings.CutPrefix(lines.Text(), "FLUSH "); ok {
			var f flushed
			if json.Unmarshal([]byte(text), &f) == nil {
				d.flushes = append(d.flushes, f)
			}
		} else {
			d.log.WriteString(lines.Text() + "\n")
		}
		d.mu.Unlock()
	}
}

func (d *daemon) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// calls returns how many calls the daemon has counted for a timer in all flushes, and
// in how many lines.
func (d *daemon) calls(name string) (calls float64, lines int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.flushes {
		calls += f.TimerData[name].Count
		lines += len(f.Timers[name])
	}
	return calls, lines
}

// counted returns the sum of a counter in all flushes of the daemon.
func (d *daemon) counted(name string) (sum float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.flushes {
		sum += f.Counters[name]
	}
	return sum
}

// query sends a command to the management interface.
func (d *daemon) query(t *testing.T, command string) string {
	t.Helper()
	c, err := net.Dial("tcp", d.mgmt)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, command)
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(timeout)))
	var all strings.Builder
	buf := make([]byte, 64<<10)
	for !strings.Contains(all.String(), "END\n") {
		n, err := c.Read(buf)
		require.NoError(t, err, "after %q", all.String())
		all.Write(buf[:n])
	}
	return all.String()
}

// number matches an entry of an object as node prints it, "name: 1" or "'name.x': 1".
var number = regexp.MustCompile(`'?([\w.=;-]+)'?: (-?[\d.]+)`)

// numbers returns all counters or gauges, except the daemon's own.
func (d *daemon) numbers(t *testing.T, command string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, m := range number.FindAllStringSubmatch(d.query(t, command), -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		if !strings.HasPrefix(m[1], "statsd.") {
			all[m[1]] = n
		}
	}
	return all
}

func (d *daemon) becomes(t *testing.T, command string, want map[string]float64) {
	t.Helper()
	var got map[string]float64
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		got = d.numbers(t, command)
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	require.Equal(t, want, got, command)
}

const never = time.Hour // flushes of the daemon reset its counters

func TestDaemonCountsWhatWasCounted(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		t.Run(network, func(t *testing.T) {
			d := startDaemon(t, "", never)
			r := stats.New(nil)
			stop := run(t, newPlain(t, r, d.addr, &statsd.Options{
				Network: network, FlushInterval: 10 * time.Millisecond, Tags: []stats.Tag{{Name: "zone", Value: "a"}},
			}))
			limit := "ratelimit.service.rate_limit.mongo_cps.database_users.total_hits"
			memcache := stats.Tagged("ratelimit.memcache.multiget", stats.Tag{Name: "code", Value: "success"})
			r.Counter("unused")
			for i := range 1000 {
				r.Counter(limit).Add(uint64(i))
				r.Counter(memcache).Add(1)
				r.Gauge("ratelimit.redis_pool.cx_active").Set(uint64(i))
				if i < 10 {
					r.Timer("t").Record(time.Duration(i) * time.Millisecond)
				}
			}
			stop()
			d.becomes(t, "counters", map[string]float64{
				limit + ".__zone=a": 499_500,
				"ratelimit.memcache.multiget.__code=success.__zone=a": 1000,
			})
			d.becomes(t, "gauges", map[string]float64{"ratelimit.redis_pool.cx_active.__zone=a": 999})
			want := "{ 't.__zone=a': [ 0 1 2 3 4 5 6 7 8 9 ] }"
			eventually(t, func() bool {
				reply := strings.Join(strings.Fields(strings.ReplaceAll(d.query(t, "timers"), ",", " ")), " ")
				return strings.HasPrefix(reply, want)
			}, "the timers are not %s", want)
			require.NotContains(t, d.text(), "Bad line")
		})
	}
}

// The daemon computes the right count from a sample of the calls.
func TestDaemonCountsSampledCalls(t *testing.T) {
	d := startDaemon(t, "", 200*time.Millisecond)
	r := stats.New(nil)
	stop := run(t, newPlain(t, r, d.addr, &statsd.Options{FlushInterval: never, MaxTimerLines: 1000}))
	const calls = 123_457
	for i := range calls {
		r.Timer("many").Record(time.Duration(i%50) * time.Millisecond)
	}
	for range 1000 {
		r.Timer("few").Record(time.Millisecond)
	}
	stop()
	eventually(t, func() bool {
		many, _ := d.calls("many")
		few, _ := d.calls("few")
		return many > calls-1 && few == 1000
	}, "the daemon has not counted all calls: %s", d.text())
	many, lines := d.calls("many")
	require.InDelta(t, calls, many, 0.01)
	require.Equal(t, 1000, lines)
	require.NotContains(t, d.text(), "Bad line")
}

// What was counted while the daemon was down is sent to its successor, once.
func TestDaemonIsRestarted(t *testing.T) {
	first := startDaemon(t, "", never)
	r := stats.New(nil)
	var log logtest.Log
	stop := run(t, newPlain(t, r, first.addr, &statsd.Options{FlushInterval: 5 * time.Millisecond, Log: log.Logger()}))
	r.Counter("a").Add(100)
	r.Counter("b").Add(7)
	first.becomes(t, "counters", map[string]float64{"a": 100, "b": 7})
	first.kill()
	eventually(t, func() bool { return strings.Contains(log.String(), "cannot be sent") }, "the failure was not noticed")
	for range 50 {
		r.Counter("a").Add(1)
		r.Counter("c").Add(2)
	}
	second := startDaemon(t, first.addr, never)
	second.becomes(t, "counters", map[string]float64{"a": 50, "c": 100})
	r.Counter("b").Add(1)
	second.becomes(t, "counters", map[string]float64{"a": 50, "b": 1, "c": 100})
	stop()
	second.becomes(t, "counters", map[string]float64{"a": 50, "b": 1, "c": 100})
	require.Equal(t, 2, log.Count("\n"), log.String())
}

// The daemon accepts tags in the form of agents, and appends them to the name.
func TestDaemonAcceptsAgentLines(t *testing.T) {
	d := startDaemon(t, "", 100*time.Millisecond)
	r := stats.New(nil)
	s, err := statsd.NewAgent(r, d.addr, &statsd.Options{
		FlushInterval: never, MaxTimerLines: 100, Mogrifiers: []statsd.Mogrifier{rateLimit()}, Tags: []stats.Tag{{Name: "zone", Value: "a"}},
	})
	require.NoError(t, err)
	stop := run(t, s)
	r.Counter("ratelimit.service.rate_limit.mongo_cps.database_users.total_hits").Add(5)
	r.Counter("ratelimit.service.config_load_success").Add(2)
	for range 333 {
		r.Timer("ratelimit_server.ShouldRateLimit.response_time").Record(time.Millisecond)
	}
	stop()
	timer := "ratelimit_server.ShouldRateLimit.response_time;zone=a"
	eventually(t, func() bool {
		calls, _ := d.calls(timer)
		return calls > 332.9
	}, "the daemon has not counted all calls: %s", d.text())
	calls, lines := d.calls(timer)
	require.InDelta(t, 333, calls, 0.01)
	require.Equal(t, 100, lines)
	require.EqualValues(t, 5, d.counted("ratelimit.service.rate_limit.total_hits;zone=a;domain=mongo_cps;descriptor=database_users"))
	require.EqualValues(t, 2, d.counted("ratelimit.service.config_load_success;zone=a"))
	require.NotContains(t, d.text(), "Bad line")
}
