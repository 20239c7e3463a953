package redisstore_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// ward keeps answers back while it is shut, and knows which servers were asked.
type ward struct {
	gate  atomic.Pointer[chan struct{}]
	asked sync.Map // of addresses
}

func (w *ward) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return wardConn{stuckConn{conn, &w.gate}, w, addr}, err
}

// shut keeps answers back until it is opened.
func (w *ward) shut() (open func()) {
	gate := make(chan struct{})
	w.gate.Store(&gate)
	return sync.OnceFunc(func() {
		w.gate.Store(nil)
		close(gate)
	})
}

// servers is how many were asked since it was shut.
func (w *ward) servers() (n int) {
	w.asked.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

type wardConn struct {
	stuckConn
	ward *ward
	addr string
}

func (c wardConn) Write(p []byte) (int, error) {
	if c.ward.gate.Load() != nil {
		c.ward.asked.Store(c.addr, true)
	}
	return c.stuckConn.Write(p)
}

// parallelism has one call that needs three nodes, and looks how many of them are
// asked before one has answered.
func parallelism(t *testing.T, cluster *redistest.Cluster) {
	for what, c := range map[string]struct{ poolSize, parallelism, want int }{
		"as many as the call needs":        {10, 0, 3},
		"no more than the pool":            {2, 0, 2},
		"one, by the pool":                 {1, 0, 1},
		"one after the other":              {10, 1, 1},
		"two":                              {10, 2, 2},
		"not more than the pool by choice": {2, 3, 2},
	} {
		t.Run(what, func(t *testing.T) {
			w := new(ward)
			store := openCluster(t, cluster.Addrs(), &redisstore.Options{
				PoolSize: c.poolSize, Parallelism: c.parallelism, Timeout: forLong, Dial: w.dial,
			})
			hits := onEach(cluster)
			release := w.shut()
			defer release()
			done := make(chan error, 1)
			go func() { done <- store.Add(context.Background(), hits) }()
			require.Eventually(t, func() bool { return w.servers() == c.want }, forever, time.Millisecond)
			require.Never(t, func() bool { return w.servers() > c.want }, 30*time.Millisecond, 5*time.Millisecond)
			release()
			require.NoError(t, <-done)
			for _, h := range hits {
				require.EqualValues(t, 1, h.Count)
			}
		})
	}
}

// onEach is one hit for each master.
func onEach(cluster *redistest.Cluster) []ratelimit.Hit {
	hits := make([]ratelimit.Hit, len(cluster.Masters))
	for found := 0; found < len(hits); {
		h := hit(name(), 1)
		if at := cluster.Owner(cluster.Slot(string(h.Key))); hits[at].Key == nil {
			hits[at] = h
			found++
		}
	}
	return hits
}
