package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// Cluster keeps counters in a cluster of Redis servers. It is a ratelimit.SubtractStore
// and a ratelimit.ChargeStore, but not a ratelimit.ConditionalStore, because no step is atomic over several servers: an Engine
// with StopIncrementWhenOverLimit reads first and adds then. Create it with NewCluster.
type Cluster struct {
	*shared
	client *redis.ClusterClient
	seeds  []string
	known  atomic.Pointer[[]string] // the servers that were reported last
	ctx    context.Context          // until Close
	stop   context.CancelFunc

	mu     sync.Mutex
	queues map[string]*queue // by address
	closed bool
}

// NewCluster returns a store in the cluster that these servers, host:port each, belong
// to. One that responds is enough to find the others. NewCluster does not use the
// network: see WaitReady. It returns an error if an address or an option is invalid. opts
// may be nil.
func NewCluster(servers []string, opts *Options) (*Cluster, error) {
	seeds, err := settings.HostPorts("servers", servers)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	shared, err := newShared(sameAddr, opts)
	if err != nil {
		return nil, err
	}
	if shared.opts.Database != 0 {
		return nil, fmt.Errorf("redisstore: Database %d: a cluster has database 0 only", shared.opts.Database)
	}
	c := &Cluster{shared: shared, seeds: seeds, queues: make(map[string]*queue)}
	shared.send, shared.ping = c.send, c.Ping
	// All instances ask the same server: clocks of the others may differ.
	shared.clock.ask = func(ctx context.Context) (time.Time, error) {
		server, err := c.client.MasterForKey(ctx, "")
		if err != nil {
			return time.Time{}, err
		}
		return server.Time(ctx).Result()
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	seedHost, _, _ := net.SplitHostPort(seeds[0]) // for redirections to a server that does not know its address
	options := shared.dialer.clientOptions(seeds...).Cluster()
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return shared.dialer.dial(ctx, network, fromHere(addr, seedHost, "0"))
	}
	options.ClusterSlots = c.slots
	c.client = redis.NewClusterClient(options)
	shared.ledgers.start(c.client, shared.opts.PoolSize, c.queueFor)
	c.client.OnNewNode(func(server *redis.Client) { server.AddHook(shared.dialer.hook()) })
	return c, nil
}

// nextServer is the time after which another server is asked for the slots, beside one that does not reply.
const nextServer = 100 * time.Millisecond

// slots asks servers for their slots until one replies. The library would wait for one that
// hangs.
func (c *Cluster) slots(ctx context.Context) ([]redis.ClusterSlot, error) {
	addrs := c.seeds
	if known := c.known.Load(); known != nil {
		addrs = *known
	}
	addrs = slices.Clone(addrs)
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	type result struct {
		slots []redis.ClusterSlot
		err   error
	}
	if c.ctx.Err() != nil {
		return nil, redis.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	results := make(chan result, len(addrs))
	next := time.NewTimer(0)
	defer next.Stop()
	var first error
	for asked, failed := 0, 0; ; {
		select {
		case <-next.C:
			if asked < len(addrs) {
				addr := addrs[asked]
				asked++
				next.Reset(nextServer)
				go func() {
					slots, err := c.slotsOf(ctx, addr)
					results <- result{slots, err}
				}()
			}
		case r := <-results:
			if r.err == nil {
				c.remember(r.slots)
				return r.slots, nil
			}
			first = cmp.Or(first, r.err)
			if failed++; failed == len(addrs) {
				c.known.Store(nil) // the seeds may have moved
				return nil, first
			}
			next.Reset(0)
		}
	}
}

// slotsOf asks one server.
func (c *Cluster) slotsOf(ctx context.Context, addr string) ([]redis.ClusterSlot, error) {
	client := c.dialer.single(ctx, addr)
	defer func() { _ = client.Close() }()
	// The library's own command does not read a server without a host, which cluster-preferred-endpoint-type
	// unknown-endpoint makes.
	reply, err := client.Do(ctx, "cluster", "slots").Slice()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	host, port, _ := net.SplitHostPort(addr)
	slots := make([]redis.ClusterSlot, 0, len(reply))
	for _, r := range reply {
		// The first slot, the last, and the servers: host, port, and others.
		part, _ := r.([]any)
		if len(part) < 3 {
			return nil, fmt.Errorf("%s: the reply to CLUSTER SLOTS is not as documented", addr)
		}
		first, _ := part[0].(int64)
		last, _ := part[1].(int64)
		s := redis.ClusterSlot{Start: int(first), End: int(last)}
		for _, n := range part[2:] {
			server, _ := n.([]any)
			if len(server) < 2 {
				return nil, fmt.Errorf("%s: the reply to CLUSTER SLOTS is not as documented", addr)
			}
			name, _ := server[0].(string) // nil means the host that was connected to
			s.Nodes = append(s.Nodes, redis.ClusterNode{Addr: fromHere(net.JoinHostPort(name, fmt.Sprint(server[1])), host, port)})
		}
		slots = append(slots, s)
	}
	return slots, nil
}

// fromHere corrects the address of a server that another one reports: one that has no host, is
// on the loopback interface of a server elsewhere, or has no port but for TLS.
func fromHere(addr, host, port string) string {
	if h, p, err := net.SplitHostPort(addr); err == nil {
		itself, here := net.ParseIP(h), net.ParseIP(host)
		if h == "" || h == "?" || itself != nil && itself.IsLoopback() && here != nil && !here.IsLoopback() {
			h = host
		}
		if p == "0" {
			p = port
		}
		addr = net.JoinHostPort(h, p)
	}
	return addr
}

// remember stores the servers to ask next time: those that were reported, and the seeds.
func (c *Cluster) remember(slots []redis.ClusterSlot) {
	all := slices.Clone(c.seeds)
	for _, s := range slots {
		for _, n := range s.Nodes {
			all = append(all, n.Addr)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	c.known.Store(&all)
}

// send makes the calls of a request. Each server gets its part of the hits or charges. If one part fails, others
// may have been counted.
func (c *Cluster) send(ctx context.Context, r request) error {
	limited, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	return c.do(ctx, &r, func(key []byte) (*queue, error) { return c.queueFor(limited, key) })
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
	c.clock.close()
	c.stop()
	_ = c.client.Close()
	return nil
}
