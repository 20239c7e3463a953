//go:build unix

package e2e_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

// socket returns the path of a socket, short enough for all systems.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "envoy")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "grpc")
}

// serveSocket starts a ratelimitd with the rules of these tests on a unix socket, and waits until it listens.
func serveSocket(t *testing.T, path string, store *redistest.Server) *server {
	t.Helper()
	return serve(t, map[string]string{"shop.yaml": envoyRules}, map[string]string{
		"GRPC_UDS": path, "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "REDIS_TIMEOUT": "1s", "LOG_LEVEL": "error",
	})
}

// TestEnvoyFailureModes makes calls fail in each way: with failure_mode_deny, Envoy refuses requests with 500 and closes
// connections; without, it lets them pass. After each failure everything is as before.
func TestEnvoyFailureModes(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	store, path := redistest.Start(t, nil), socket(t)
	s := serveSocket(t, path, store)
	var listeners []envoyListener
	for _, deny := range []bool{true, false} {
		name := map[bool]string{true: "deny", false: "allow"}[deny]
		listeners = append(listeners,
			envoyListener{Name: name, Service: "limits", Deny: deny, Timeout: "1s", Routes: []string{limitedBy("/load", byLoad), limitedBy("/client", byClient)}},
			envoyListener{Name: "tcp-" + name, Service: "limits", Deny: deny, Timeout: "1s", TCP: `[{entries: [{key: load, value: x}]}]`},
		)
	}
	listeners = append(listeners, envoyListener{Name: "tcp-limited", Service: "limits", Timeout: "10s", TCP: `[{entries: [{key: connection, value: x}]}]`})
	e := startEnvoy(t, listeners, []envoyCluster{{Name: "limits", Addrs: []string{path}}})

	passes := func(listener string) bool {
		if listener[:3] == "tcp" {
			return e.connects(t, listener)
		}
		code, _ := e.get(t, listener, "/load")
		require.Contains(t, []int{http.StatusOK, http.StatusInternalServerError}, code)
		return code == http.StatusOK
	}
	decisions := func() (ok, failed int) {
		return e.stat(`cluster.backend.ratelimit.allow.ok`), e.stat(`cluster.backend.ratelimit.allow.error`)
	}
	works := func() {
		t.Helper()
		eventually(t, "requests pass", func() bool { return passes("deny") && passes("tcp-deny") })
		before, failures := decisions()
		require.True(t, passes("allow") && passes("tcp-allow"))
		after, more := decisions()
		require.Equal(t, []int{before + 1, failures}, []int{after, more}, "because the service says so")
	}
	fails := func() {
		t.Helper()
		eventually(t, "requests are refused", func() bool { return !passes("deny") && !passes("tcp-deny") })
		before := e.stat(`cluster.backend.ratelimit.allow.failure_mode_allowed`)
		require.True(t, passes("allow") && passes("tcp-allow"))
		require.Equal(t, before+1, e.stat(`cluster.backend.ratelimit.allow.failure_mode_allowed`))
	}

	works()
	require.Equal(t, []bool{true, true, false}, []bool{e.connects(t, "tcp-limited"), e.connects(t, "tcp-limited"), e.connects(t, "tcp-limited")})
	require.Equal(t, []int{1, 1}, []int{e.stat(`ratelimit.tcp-limited.over_limit`), e.stat(`ratelimit.tcp-limited.cx_closed`)})
	store.Kill()
	fails()
	store.Restart()
	works()
	s.signal(syscall.SIGSTOP)
	fails()
	s.signal(syscall.SIGCONT)
	works()
	s.signal(syscall.SIGKILL)
	s.code()
	fails()
	serveSocket(t, path, store)
	works()
}

// pair is an Envoy with a health check of two instances, and a load of requests through it.
type pair struct {
	*envoyProxy
	t         *testing.T
	good, bad atomic.Int64 // requests that succeeded, and that failed
	cancel    context.CancelFunc
	all       sync.WaitGroup
}

const loadClients = 8

// startPair starts Envoy with failure_mode_deny, so that a call that fails is a request that fails, and the load.
func startPair(t *testing.T, addrs ...string) *pair {
	t.Helper()
	p := &pair{t: t, envoyProxy: startEnvoy(t,
		[]envoyListener{{Name: "front", Service: "limits", Deny: true, Timeout: "2s", Routes: []string{limitedBy("/load", byLoad)}}},
		[]envoyCluster{{Name: "limits", Addrs: addrs, Health: true}})}
	p.instances(len(addrs))
	ctx, cancel := context.WithCancel(t.Context())
	p.cancel = cancel
	for range loadClients {
		p.all.Go(func() {
			for ctx.Err() == nil {
				code, _, err := p.send(context.Background(), http.MethodGet, "front", "/load")
				if err == nil && code == http.StatusOK {
					p.good.Add(1)
					continue
				}
				p.bad.Add(1)
			}
		})
	}
	t.Cleanup(p.stop)
	return p
}

// stop ends the load.
func (p *pair) stop() {
	p.cancel()
	p.all.Wait()
}

// instances waits until Envoy finds so many instances healthy.
func (p *pair) instances(n int) {
	p.t.Helper()
	eventually(p.t, "healthy instances", func() bool { return p.stat(`cluster.limits.membership_healthy`) == n })
}

// passes requires that further requests succeed, all of them.
func (p *pair) passes() {
	p.t.Helper()
	bad, good := p.bad.Load(), p.good.Load()
	eventually(p.t, "requests", func() bool { return p.good.Load() > good+300 })
	require.Equal(p.t, bad, p.bad.Load(), "failed requests")
}

// TestEnvoyInstances kills, stops and restarts one of two instances under load. Only requests fail that it was to
// decide until the health check noticed, and each instance gets calls again.
func TestEnvoyInstances(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	store, paths := redistest.Start(t, nil), []string{socket(t), socket(t)}
	first, second := serveSocket(t, paths[0], store), serveSocket(t, paths[1], store)
	p := startPair(t, paths...)
	p.passes()
	require.Zero(t, p.bad.Load())

	first.signal(syscall.SIGKILL)
	first.code()
	p.instances(1)
	p.settle()
	p.passes()
	first = serveSocket(t, paths[0], store)
	p.instances(2)
	p.decides(first)

	second.signal(syscall.SIGSTOP)
	p.instances(1)
	p.settle()
	p.passes()
	second.signal(syscall.SIGCONT)
	p.instances(2)
	p.decides(second)
	p.passes()
}

// settle waits for the end of requests that were sent to an instance that is gone.
func (p *pair) settle() {
	p.t.Helper()
	eventually(p.t, "requests end", func() bool {
		bad, good := p.bad.Load(), p.good.Load()
		eventually(p.t, "requests", func() bool { return p.good.Load() > good+100 })
		return p.bad.Load() == bad && p.stat(`cluster.limits.upstream_rq_active`) < loadClients
	})
}

// decides waits until an instance gets calls.
func (p *pair) decides(s *server) {
	p.t.Helper()
	hits := func() int {
		_, stats := httpDo(p.t, http.MethodGet, "http://"+s.debug+"/stats", "")
		return number(p.t, stats+"\nratelimit.service.rate_limit.shop.load.total_hits: 0\n", `(?m)^ratelimit\.service\.rate_limit\.shop\.load\.total_hits: (\d+)$`)
	}
	before := hits()
	eventually(p.t, "the instance gets calls", func() bool { return hits() > before+20 })
}

// TestEnvoyDrain ends connections by their age, and one of two instances by SIGTERM, under load: no request fails, and
// each is counted once.
func TestEnvoyDrain(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	store := redistest.Start(t, nil)
	environ := map[string]string{
		"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "LOG_LEVEL": "error",
		"GRPC_MAX_CONNECTION_AGE": "100ms", "GRPC_MAX_CONNECTION_AGE_GRACE": "30s", "SHUTDOWN_DRAIN_DELAY": "3s",
	}
	var instances []*server
	for range 2 {
		instances = append(instances, serve(t, map[string]string{"shop.yaml": envoyRules}, maps.Clone(environ)))
	}
	p := startPair(t, instances[0].grpc, instances[1].grpc)
	eventually(t, "connections grow old", func() bool { return p.stat(`cluster.limits.upstream_cx_close_notify`) >= 20 })
	instances[0].signal(syscall.SIGTERM)
	p.instances(1)
	p.decides(instances[1])
	require.Zero(t, instances[0].code())
	p.passes()
	p.stop()
	require.Zero(t, p.bad.Load(), "failed requests")
	require.Zero(t, p.stat(`cluster.backend.ratelimit.front.error`), "failed calls")
	hits := 0
	for _, n := range counted(t, store) {
		hits += n
	}
	require.EqualValues(t, p.good.Load(), hits)
	t.Logf("%d requests, %d connections, none failed", hits, p.stat(`cluster.limits.upstream_cx_total`))
}
