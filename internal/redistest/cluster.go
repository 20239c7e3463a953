package redistest

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// Cluster is a cluster of Redis servers.
type Cluster struct {
	// Masters have equal parts of the slots, in order. Each replica follows the master
	// with the same index.
	Masters, Replicas []*Server

	t     testing.TB
	buses map[*Server]string // the ports of the cluster bus
}

// StartCluster runs a cluster until the test ends. A server that does not respond for five
// seconds, which is longer than a busy machine takes, counts as failed. opts may be nil.
func StartCluster(t testing.TB, masters int, replicas bool, opts *Options) *Cluster {
	t.Helper()
	opts = opts.withDefaults(t)
	c := &Cluster{t: t, buses: make(map[*Server]string)}
	for range masters {
		c.Masters = append(c.Masters, c.startNode(opts))
	}
	for i, m := range c.Masters {
		require.NoError(t, m.Client().ClusterAddSlotsRange(context.Background(), i*slots/masters, (i+1)*slots/masters-1).Err())
		require.NoError(t, m.Client().Do(context.Background(), "cluster", "set-config-epoch", i+1).Err())
	}
	if replicas {
		for range masters {
			c.Replicas = append(c.Replicas, c.startNode(opts))
		}
	}
	first := c.Masters[0].Client()
	for _, s := range c.servers()[1:] {
		host, port, _ := net.SplitHostPort(s.Addr)
		require.NoError(t, first.Do(context.Background(), "cluster", "meet", host, port, c.buses[s]).Err())
	}
	for i, r := range c.Replicas {
		id, err := c.Masters[i].Client().Do(context.Background(), "cluster", "myid").Text()
		require.NoError(t, err)
		waitUntil(t, "the replica knows its master", func(ctx context.Context) bool {
			return r.Client().ClusterReplicate(ctx, id).Err() == nil
		})
	}
	c.waitComplete()
	return c
}

func (c *Cluster) startNode(opts *Options) *Server {
	c.t.Helper()
	s := prepare(c.t, opts)
	if s.opts.Password != "" {
		s.args = append(s.args, "--masterauth", s.opts.Password)
	}
	s.args = append(s.args, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
		"--cluster-replica-validity-factor", "0")
	s.start(s.opts.Program, func() []string {
		c.buses[s] = servertest.FreePort(c.t)
		return []string{"--cluster-port", c.buses[s]}
	})
	return s
}

func (c *Cluster) servers() []*Server { return slices.Concat(c.Masters, c.Replicas) }

// waitComplete returns when every server knows all slots and replicas.
func (c *Cluster) waitComplete() {
	c.t.Helper()
	for _, s := range c.servers() {
		client := s.Client()
		waitUntil(c.t, "the cluster is complete", func(ctx context.Context) bool {
			info := client.ClusterInfo(ctx).Val()
			nodes := client.ClusterNodes(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Count(nodes, "slave") == len(c.Replicas) &&
				!strings.Contains(nodes, "handshake") && strings.Contains(info, "cluster_slots_ok:16384")
		})
	}
	for i, r := range c.Replicas {
		c.Masters[i].waitForReplica(r)
	}
}

// Addrs returns the addresses of the masters.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, m := range c.Masters {
		addrs = append(addrs, m.Addr)
	}
	return addrs
}
