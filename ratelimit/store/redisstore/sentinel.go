package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookEvery is how often the sentinels are asked who the master is. A master that was
// demoted is noticed by its first answer; this is for one that was cut off, and does
// not know.
const lookEvery = time.Second

// NewSentinel returns a store in the server that the sentinels, host:port each, know as
// the master of that name. When they choose another, calls go there: those under way may
// fail, and none is made twice. opts may be nil.
//
// Beside the calls a goroutine asks a sentinel once a second who the master is. Close
// ends it.
func NewSentinel(master string, sentinels []string, opts *Options) (*Store, error) {
	if master == "" {
		return nil, errors.New("redisstore: the master's name is missing: sentinels know it by one")
	}
	places, err := parseHosts("sentinels", sentinels)
	if err != nil {
		return nil, err
	}
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	s := &Store{client: c}
	g := &guard{
		master: master, sentinels: places,
		dialer: &dialer{&s.client.opts, parseAuth(s.opts.SentinelAuth), new(traffic)},
		ended:  make(chan struct{}),
	}
	s.node = s.newNode(false, g.resolve)
	s.stop = g.stop
	var ctx context.Context
	ctx, g.end = context.WithCancel(context.Background())
	go g.watch(ctx, s.node)
	return s, nil
}

// guard asks the sentinels.
type guard struct {
	master string
	dialer *dialer // its connections are not in the statistics

	mu        sync.Mutex
	sentinels []place // the one that answered last is the first
	led       place   // where they have sent the last connection; zero before the first

	end   context.CancelFunc
	ended chan struct{}
}

// resolve asks one sentinel after the other, and gives each its share of the time.
func (g *guard) resolve(deadline time.Time) (place, error) {
	g.mu.Lock()
	sentinels := append([]place{}, g.sentinels...)
	g.mu.Unlock()
	var failed []error
	for i, sentinel := range sentinels {
		share := time.Until(deadline) / time.Duration(len(sentinels)-i)
		at, err := g.ask(sentinel, time.Now().Add(share))
		if err == nil {
			g.lead(sentinel, at)
			return at, nil
		}
		failed = append(failed, err)
	}
	return place{}, fmt.Errorf("redisstore: no sentinel knows the master %q: %w", g.master, errors.Join(failed...))
}

// lead notes where a connection is going to, and has the sentinel that said so be the
// first to be asked.
func (g *guard) lead(sentinel, at place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.led = at
	for i, s := range g.sentinels {
		if s == sentinel {
			g.sentinels[0], g.sentinels[i] = g.sentinels[i], g.sentinels[0]
		}
	}
}

// strayed reports whether connections lead to another server than the master.
func (g *guard) strayed(master place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.led != master && g.led != (place{})
}

func (g *guard) ask(sentinel place, deadline time.Time) (place, error) {
	c, err := g.dialer.open(deadline, sentinel)
	if err != nil {
		return place{}, err
	}
	defer c.close()
	return g.question(c, deadline)
}

func (g *guard) question(c *conn, deadline time.Time) (place, error) {
	cmd := redis.NewStringSliceCmd(none, "sentinel", "get-master-addr-by-name", g.master)
	if err := c.Process(until{deadline}, cmd); errors.Is(err, redis.Nil) {
		return place{}, fmt.Errorf("redisstore: %s watches no master of that name", c.place.addr)
	} else if err != nil {
		return place{}, replyError(c, err)
	}
	parts := cmd.Val()
	if len(parts) != 2 {
		return place{}, fmt.Errorf("redisstore: %s answered with %d parts, want host and port", c.place.addr, len(parts))
	}
	return place{"tcp", net.JoinHostPort(parts[0], parts[1])}, nil
}

// watch has the node leave a server that is not the master any more.
func (g *guard) watch(ctx context.Context, n *node) {
	defer close(g.ended)
	w := &watcher{guard: g, node: n}
	defer w.leave()
	for sleep(ctx, lookEvery) {
		w.look()
	}
}

// watcher keeps a connection to a sentinel.
type watcher struct {
	*guard
	node *node
	conn *conn
}

func (w *watcher) look() {
	at, err := w.asked()
	if err != nil {
		w.leave()
		return
	}
	if w.strayed(at) {
		w.node.forsake()
	}
}

func (w *watcher) asked() (place, error) {
	deadline := time.Now().Add(min(w.dialer.opts.Timeout, lookEvery))
	if w.conn == nil {
		w.mu.Lock()
		// The next one, if this one does not answer.
		first := w.sentinels[0]
		w.sentinels = append(w.sentinels[1:], first)
		w.mu.Unlock()
		c, err := w.dialer.open(deadline, first)
		if err != nil {
			return place{}, err
		}
		w.conn = c
	}
	return w.question(w.conn, deadline)
}

func (w *watcher) leave() {
	if w.conn != nil {
		w.conn.close()
		w.conn = nil
	}
}

// stop ends the watching.
func (g *guard) stop() {
	g.end()
	<-g.ended
}
