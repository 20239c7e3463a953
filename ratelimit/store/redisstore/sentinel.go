package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

// watchInterval is how often a sentinel is asked for the master. A demoted master shows
// with its next reply; this is for one that was cut off and does not know.
const watchInterval = time.Second

// NewSentinel returns a store in the server that the sentinels, host:port each, know as
// the master of that name. When they choose another, calls go there: those under way may
// fail, and none is made twice. NewSentinel does not use the network. It returns an error
// if the name, an address or an option is invalid. opts may be nil.
//
// A goroutine asks a sentinel once a second for the master. Close stops it.
func NewSentinel(master string, sentinels []string, opts *Options) (*Store, error) {
	if master == "" {
		return nil, errors.New("redisstore: no master name: give the name that the sentinels know the master by")
	}
	addrs, err := checkHostPorts("sentinels", sentinels)
	if err != nil {
		return nil, err
	}
	g := &sentinelGroup{master: master}
	s, err := newStore(fmt.Sprintf("%q", master), func(ctx context.Context, _ string) (string, error) { return g.dialAddr(ctx) }, opts)
	if err != nil {
		return nil, err
	}
	d := &dialer{opts: &s.opts, logins: parseAuth(s.opts.SentinelAuth), locate: sameAddr}
	for _, addr := range addrs {
		g.sentinels = append(g.sentinels, sentinel{addr, redis.NewSentinelClient(d.clientOptions(addr).Simple())})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { g.watch(ctx, s.dialer) })
	s.stop = func() {
		cancel()
		watching.Wait()
		for _, s := range g.sentinels {
			_ = s.client.Close()
		}
	}
	return s, nil
}

// sentinelGroup asks sentinels for the address of a master.
type sentinelGroup struct {
	master string

	mu        sync.Mutex
	sentinels []sentinel // the one that replied last is the first
	dialed    string     // where the last connection went
}

type sentinel struct {
	addr   string
	client *redis.SentinelClient
}

// dialAddr returns the address for a new connection.
func (g *sentinelGroup) dialAddr(ctx context.Context) (string, error) {
	addr, err := g.masterAddr(ctx)
	if err == nil {
		g.mu.Lock()
		g.dialed = addr
		g.mu.Unlock()
	}
	return addr, err
}

// masterAddr asks one sentinel after the other, each for its share of the time.
func (g *sentinelGroup) masterAddr(ctx context.Context) (string, error) {
	g.mu.Lock()
	sentinels := append([]sentinel{}, g.sentinels...)
	g.mu.Unlock()
	deadline, _ := ctx.Deadline()
	var errs []error
	for i, s := range sentinels {
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(sentinels)-i))
		parts, err := s.client.GetMasterAddrByName(share, g.master).Result()
		cancel()
		switch {
		case errors.Is(err, redis.Nil):
			err = errors.New("watches no master of that name")
		case err == nil && len(parts) != 2:
			err = fmt.Errorf("replied with %d parts instead of host and port", len(parts))
		case err == nil:
			g.prefer(s)
			return net.JoinHostPort(parts[0], parts[1]), nil
		}
		errs = append(errs, fmt.Errorf("sentinel %s: %w", s.addr, err))
	}
	return "", fmt.Errorf("no sentinel knows the master %q: %w", g.master, errors.Join(errs...))
}

func (g *sentinelGroup) prefer(s sentinel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.sentinels {
		if g.sentinels[i] == s {
			g.sentinels[0], g.sentinels[i] = g.sentinels[i], g.sentinels[0]
		}
	}
}

// watch discards the connections to a server that is no longer the master.
func (g *sentinelGroup) watch(ctx context.Context, servers *dialer) {
	for backoff.Sleep(ctx, watchInterval) == nil {
		limited, cancel := context.WithTimeout(ctx, servers.opts.Timeout)
		addr, err := g.masterAddr(limited)
		cancel()
		g.mu.Lock()
		if err == nil && g.dialed != "" && g.dialed != addr {
			g.dialed = ""
			servers.generation.Add(1)
		}
		g.mu.Unlock()
	}
}
