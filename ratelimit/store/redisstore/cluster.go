package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Cluster keeps counters in a cluster of Redis servers. It is a ratelimit.Store but not
// a ratelimit.ConditionalStore, because no step is atomic over several servers: an Engine
// with StopIncrementWhenOverLimit reads first and adds then. Create it with NewCluster.
type Cluster struct {
	*shared
	client *redis.ClusterClient

	mu     sync.Mutex
	queues map[string]*queue // by address
	closed bool
}

// NewCluster returns a store in the cluster that these servers, host:port each, belong
// to. One that responds is enough to find the others. NewCluster does not use the
// network: see WaitReady. It returns an error if an address or an option is invalid. opts
// may be nil.
func NewCluster(servers []string, opts *Options) (*Cluster, error) {
	seeds, err := checkHostPorts("servers", servers)
	if err != nil {
		return nil, err
	}
	seedHost, _, _ := net.SplitHostPort(seeds[0])
	shared, err := newShared(func(_ context.Context, addr string) (string, error) {
		return completeAddr(addr, seedHost), nil
	}, opts)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		shared: shared, client: redis.NewClusterClient(shared.dialer.clientOptions(seeds...).Cluster()),
		queues: make(map[string]*queue),
	}, nil
}

// completeAddr adds the host to the address of a server that does not know its own: such
// servers are where the first one is.
func completeAddr(addr, seedHost string) string {
	host, port, _ := strings.Cut(addr, ":")
	if host == "" || host == "?" {
		return net.JoinHostPort(seedHost, port)
	}
	return addr
}

// part is the hits of one call for one server.
type part struct {
	queue *queue
	call  *call
}

// Add implements ratelimit.Store. Each server gets its part of the hits. If one part
// fails, others may have been counted.
func (c *Cluster) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	parts, err := c.split(ctx, hits)
	for len(parts) > 0 && err == nil {
		together := parts[:min(len(parts), c.opts.Parallelism)]
		parts = parts[len(together):]
		err = c.addParts(ctx, together, hits)
	}
	for _, p := range parts {
		c.callPool.put(p.call)
	}
	return err
}

func (c *Cluster) split(ctx context.Context, hits []ratelimit.Hit) (parts []part, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	for i := range hits {
		q, err := c.queueFor(ctx, hits[i].Key)
		if err != nil {
			return parts, err
		}
		at := 0
		for at < len(parts) && parts[at].queue != q {
			at++
		}
		if at == len(parts) {
			parts = append(parts, part{q, c.callPool.get(addCall)})
		}
		parts[at].call.add(&hits[i], i)
	}
	return parts, nil
}

// queueFor returns the queue for the server that has the key.
func (c *Cluster) queueFor(ctx context.Context, key []byte) (*queue, error) {
	client, err := c.client.MasterForKey(ctx, string(key))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: no server of the cluster reports its slots: %w", err)
	}
	addr := client.Options().Addr
	q := c.queues[addr]
	if q == nil {
		q = c.newQueue(addr, c.client.Pipeline)
		q.reload = func() { c.client.ReloadState(context.Background()) }
		c.queues[addr] = q
	}
	return q, nil
}

// addParts makes calls at the same time. It returns the first error when all have ended.
func (c *Cluster) addParts(ctx context.Context, parts []part, hits []ratelimit.Hit) (first error) {
	for _, p := range parts {
		if err := p.queue.add(p.call); err != nil {
			p.call.err = err
			p.call.finish()
		}
	}
	for _, p := range parts {
		owned, err := p.call.wait(ctx)
		if owned {
			if err == nil {
				err = p.call.result(hits)
			}
			c.callPool.put(p.call)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Ping returns nil if every slot has a server, and all of these reply.
func (c *Cluster) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	err := c.client.ForEachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
		info, err := server.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_slots_ok:16384") {
			err = fmt.Errorf("%s reports slots without a server", server.Options().Addr)
		}
		return err
	})
	if errors.Is(err, redis.ErrClosed) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("redisstore: the cluster is not ready: %w", err)
	}
	return nil
}

// WaitReady is like Store.WaitReady, for all servers that have slots.
func (c *Cluster) WaitReady(ctx context.Context, b *Backoff) error {
	return c.waitReady(ctx, b, c.Ping)
}

// Close is like Store.Close.
func (c *Cluster) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, q := range c.queues {
		all.Go(q.close)
	}
	all.Wait()
	_ = c.client.Close()
	return nil
}
