package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/settings"
)

// watchInterval is the interval at which a sentinel is asked for the master. A demoted master shows
// with its next reply; this is for one that was cut off and does not know.
const watchInterval = 250 * time.Millisecond

// NewSentinel returns a store in the server that the sentinels, host:port each, know as
// the master of that name. When they choose another, calls go there: those under way may
// fail, and none is made twice. NewSentinel does not use the network. It returns an error
// if the name, an address or an option is invalid. opts may be nil.
//
// A goroutine asks a sentinel four times a second for the master. Close stops it.
func NewSentinel(master string, sentinels []string, opts *Options) (*Store, error) {
	if master == "" {
		return nil, errors.New("redisstore: no master name: give the name that the sentinels know the master by")
	}
	addrs, err := settings.HostPorts("sentinels", sentinels)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	g := &sentinelGroup{master: master}
	s, err := newStore(fmt.Sprintf("%q", master), func(ctx context.Context, _ string) (string, error) { return g.dialAddr(ctx) }, opts)
	if err != nil {
		return nil, err
	}
	d := &dialer{opts: &s.opts, logins: parseAuth(s.opts.SentinelAuth), locate: sameAddr}
	for _, addr := range addrs {
		client := redis.NewSentinelClient(d.clientOptions(addr).Simple())
		client.AddHook(d.hook())
		g.sentinels = append(g.sentinels, sentinel{addr, client})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	s.queue.reload = g.distrust
	g.discard = func() { s.dialer.discard(s.queue.name) }
	watching.Go(func() { g.watch(ctx, s.opts.Timeout) })
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
	master  string
	discard func() // the connections to the master

	mu        sync.Mutex
	sentinels []sentinel // the one that replied last is the first
	dialed    string     // where the last connection went
	suspect   string     // the last master that did not respond, unless all sentinels still report it
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
		defer g.mu.Unlock()
		if g.dialed != "" && g.dialed != addr {
			g.discard()
		}
		g.dialed = addr
	}
	return addr, err
}

// distrust notes that the master does not respond. Sentinels learn of a promotion one after the
// other: from now on those that report another master are believed.
func (g *sentinelGroup) distrust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dialed != "" {
		g.suspect = g.dialed
	}
}

// otherOpinion limits how long each of the other sentinels has to report another master than the
// suspect.
const otherOpinion = 100 * time.Millisecond

// masterAddr asks one sentinel after the other, each for its share of the time, until one
// reports a master that is no suspect.
func (g *sentinelGroup) masterAddr(ctx context.Context) (suspect string, _ error) {
	g.mu.Lock()
	sentinels := slices.Clone(g.sentinels)
	is := g.suspect
	g.mu.Unlock()
	deadline, _ := ctx.Deadline()
	var errs []error
	for i, s := range sentinels {
		share := time.Until(deadline) / time.Duration(len(sentinels)-i)
		if suspect != "" {
			share = min(share, otherOpinion)
		}
		addr, err := g.ask(ctx, s, share)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("sentinel %s: %w", s.addr, err))
		case addr == is:
			suspect = addr
		default:
			g.prefer(s)
			return addr, nil
		}
	}
	if suspect != "" {
		if len(errs) == 0 { // all report it, so ask one again instead of all of them
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.suspect == suspect {
				g.suspect = ""
			}
		}
		return suspect, nil
	}
	return "", fmt.Errorf("no sentinel knows the master %q: %w", g.master, errors.Join(errs...))
}

// ask returns the address of the master that a sentinel reports.
func (g *sentinelGroup) ask(ctx context.Context, s sentinel, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	parts, err := s.client.GetMasterAddrByName(ctx, g.master).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "", errors.New("watches no master of that name")
	case err != nil:
		return "", err
	case len(parts) != 2:
		return "", fmt.Errorf("replied with %d parts instead of host and port", len(parts))
	}
	return net.JoinHostPort(parts[0], parts[1]), nil
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
func (g *sentinelGroup) watch(ctx context.Context, timeout time.Duration) {
	for backoff.Sleep(ctx, watchInterval) == nil {
		limited, cancel := context.WithTimeout(ctx, timeout)
		addr, err := g.masterAddr(limited)
		cancel()
		g.mu.Lock()
		if err == nil && g.dialed != "" && g.dialed != addr {
			g.dialed = ""
			g.discard()
		}
		g.mu.Unlock()
	}
}
