//go:build linux && !race

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/cmd/internal/attack"
	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// limitedVariable makes the test binary run ratelimitd in 512 MiB.
const limitedVariable = "RATELIMITD_TEST_LIMITED"

func TestMain(m *testing.M) {
	if os.Getenv(limitedVariable) != "" {
		limit := uint64(512 << 20)
		if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		cli.Main("ratelimitd", run)
	}
	os.Exit(m.Run())
}

// limited is a ratelimitd that may use 512 MiB.
type limited struct {
	addresses
	t      *testing.T
	cmd    *exec.Cmd
	exited chan struct{}
}

func startLimited(t *testing.T) *limited {
	t.Helper()
	l := &limited{t: t, exited: make(chan struct{}), cmd: exec.Command(os.Args[0])}
	l.cmd.Env = append(os.Environ(), limitedVariable+"=1", "GOMEMLIMIT=320MiB")
	for name, value := range environ(t, nil) {
		l.cmd.Env = append(l.cmd.Env, name+"="+value)
	}
	stderr, err := l.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, l.cmd.Start())
	listening := make(chan struct{})
	go func() {
		defer close(l.exited)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if l.scan(lines.Text()) {
				close(listening)
			}
		}
		l.cmd.Wait()
	}()
	t.Cleanup(func() {
		l.cmd.Process.Kill()
		<-l.exited
	})
	select {
	case <-listening:
	case <-l.exited:
		t.Fatal("ratelimitd ended: ", l.cmd.ProcessState)
	case <-time.After(time.Minute):
		t.Fatal("ratelimitd does not start")
	}
	return l
}

// serves checks that calls on old and new connections are decided until ctx ends, and returns
// the longest time that one took.
func (l *limited) serves(ctx context.Context) (longest time.Duration) {
	old := l.dial(l.t)
	defer old.Close()
	for ctx.Err() == nil {
		fresh := l.dial(l.t)
		for _, conn := range []*grpc.ClientConn{old, fresh} {
			start := time.Now()
			limit, cancel := context.WithTimeout(l.t.Context(), time.Minute)
			err := call(limit, conn, ask("a"))
			cancel()
			longest = max(longest, time.Since(start))
			if err != nil {
				select {
				case <-l.exited:
					l.t.Error("ratelimitd has ended: ", l.cmd.ProcessState)
				default:
					l.t.Errorf("a call failed after %v: %v", time.Since(start), err)
				}
				fresh.Close()
				return longest
			}
		}
		fresh.Close()
		time.Sleep(20 * time.Millisecond)
	}
	return longest
}

func (l *limited) memory() string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// A server that may use 512 MiB decides calls while clients try to exhaust its memory, with some
// attacks at once. With ASHLAR_ATTACK_SECONDS, each attack is also made alone, for that long.
func TestAttacks(t *testing.T) {
	on := func(addr string, connections int) *attack.Target {
		return &attack.Target{Addr: addr, Connections: connections, From: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}}
	}
	attacks := map[string]func(context.Context, *limited) (attack.Result, error){
		"half messages of 4 MiB": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfMessages(ctx, on(l.grpc, 3), 100, 4<<20, 0)
		},
		"half messages of 256 KiB": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfMessages(ctx, on(l.grpc, 10), 1000, 256<<10, 0)
		},
		"half messages in small frames": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfMessages(ctx, on(l.grpc, 10), 200, 64<<10, 1)
		},
		"half messages in frames that waste buffers": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfMessages(ctx, on(l.grpc, 10), 1000, 256<<10, 1025)
		},
		"references to a large header": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HeaderBombs(ctx, on(l.grpc, 3), 1203, 5000, 3000)
		},
		"references to small headers": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HeaderBombs(ctx, on(l.grpc, 3), 200, 400_000, 1)
		},
		"headers below the limit": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HeaderBombs(ctx, on(l.grpc, 30), 1000, 400, 1)
		},
		"unread calls": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.UnreadCalls(ctx, on(l.grpc, 30), 1000, []byte("\x0a\x01d"+strings.Repeat("\x12\x00", 1000)))
		},
		"half HTTP headers": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfHeaders(ctx, on(l.http, 1000), 60<<10)
		},
		"half JSON bodies": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.HalfBodies(ctx, on(l.http, 600), "/json", 1<<20)
		},
		"connections": func(ctx context.Context, l *limited) (attack.Result, error) {
			return attack.UnreadCalls(ctx, on(l.grpc, 5000), 1, nil)
		},
	}
	t.Run("some at once", func(t *testing.T) {
		l := startLimited(t)
		l.withstands(5*time.Second, attacks["half messages of 4 MiB"], attacks["half messages of 256 KiB"],
			attacks["references to a large header"], attacks["half HTTP headers"], attacks["half JSON bodies"])
	})
	seconds, _ := strconv.Atoi(os.Getenv("ASHLAR_ATTACK_SECONDS"))
	for name, run := range attacks {
		if seconds > 0 {
			t.Run(name, func(t *testing.T) {
				l := startLimited(t)
				l.t = t
				l.withstands(time.Duration(seconds)*time.Second, run)
			})
		}
	}
}

// withstands checks that calls are decided during attacks.
func (l *limited) withstands(duration time.Duration, attacks ...func(context.Context, *limited) (attack.Result, error)) {
	ctx, cancel := context.WithTimeout(l.t.Context(), duration)
	defer cancel()
	var attackers sync.WaitGroup
	results := make([]attack.Result, len(attacks))
	for i, run := range attacks {
		attackers.Go(func() { results[i], _ = run(ctx, l) })
	}
	longest := l.serves(ctx)
	attackers.Wait()
	l.t.Logf("%v; the longest call took %v; %s", results, longest, l.memory())
	res, err := http.Get("http://" + l.http + "/healthcheck")
	require.NoError(l.t, err)
	res.Body.Close()
	require.Equal(l.t, http.StatusOK, res.StatusCode)
}
