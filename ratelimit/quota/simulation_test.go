package quota_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestSimulation runs servers, whose clocks differ by up to 50 ms, and clients in a bubble. Messages take time, streams break and are cut off, clients and
// servers crash, and some clients lie. No window may admit more than the limit, but for what clients do that lie or have lost
// a server that crashed.
func TestSimulation(t *testing.T) {
	var sum tally
	for seed := range scaletest.Seeds(t, 30, 500) {
		func() {
			if !scaletest.Race() { // see leasestore
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			}
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, &sum) })
		}()
	}
	t.Logf("%+v", sum)
	require.Zero(t, sum.Over)
	if sum.Worst > 0 {
		require.Greater(t, sum.Worst, 0.9, "of the limit or the demand, undisturbed")
	}
}

type tally struct {
	Seeds, Windows, Admitted, Refused, Crashes, Breaks, Messages, Over int
	Worst                                                              float64 // share of the limit that an undisturbed busy window admitted
}

const simDelay = 500 * time.Millisecond

type simulation struct {
	*testing.T
	*tally
	mu      sync.Mutex
	random  *rand.Rand
	store   ratelimit.Store
	rules   *ratelimit.Ruleset
	servers []*server
	clients []*client
	faults  bool
	leases  bool         // the servers claim hits ahead for the rule too
	cut     atomic.Int64 // until when servers do not reach the store, in Unix nanoseconds
	window  int64
	counts  map[int64]*windowCount
}

// partitioned is a store that servers cannot reach at times. Every second call that fails has had its effect.
type partitioned struct {
	*memstore.Store
	s *simulation
	n atomic.Int64
}

var errPartition = errors.New("the store cannot be reached")

func (p *partitioned) reach(do func() error) error {
	if time.Now().UnixNano() >= p.s.cut.Load() {
		return do()
	}
	if p.n.Add(1)%2 == 0 {
		_ = do()
	}
	return errPartition
}

func (p *partitioned) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return p.reach(func() error { return p.Store.Add(ctx, hits) })
}

func (p *partitioned) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return p.reach(func() error { return p.Store.Subtract(ctx, hits) })
}

func (p *partitioned) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return p.reach(func() error { return p.Store.Charge(ctx, charges) })
}

type windowCount struct{ admitted, demand, unreported, spill int64 }

type server struct {
	service *quota.Service
	leases  *leasestore.Leases
	links   map[*link]bool
}

func simulate(t *testing.T, seed uint64, sum *tally) {
	s := &simulation{T: t, tally: sum, random: rand.New(rand.NewPCG(seed, 0)), counts: map[int64]*windowCount{}}
	var err error
	s.store = &partitioned{Store: memstore.MustNew(nil), s: s}
	s.faults = s.random.IntN(3) > 0
	limit := ratelimit.Limit{RequestsPerUnit: uint32(math.Exp(s.random.Float64()*9) + 1), Unit: ratelimit.Minute}
	s.window = 60
	switch s.random.IntN(7) {
	case 0:
		limit.Unit, s.window = ratelimit.Second, 1
	case 1:
		limit.Unit, limit.UnitMultiplier, s.window = ratelimit.Second, 20, 20
	case 2:
		limit.Algorithm = ratelimit.SlidingWindow
	case 3:
		limit.Algorithm = ratelimit.TokenBucket
	}
	s.leases = limit.Algorithm == ratelimit.FixedWindow && s.random.IntN(4) == 0
	limit.Lease = s.leases
	s.rules, err = ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{{Key: "client", Limit: &limit}}}}, nil)
	require.NoError(t, err)
	for range 1 + s.random.IntN(3) {
		s.servers = append(s.servers, s.start())
	}
	defer s.end()
	busy := []float64{0.3, 0.95, 1.5, 3}[s.random.IntN(4)] * float64(limit.RequestsPerUnit) / float64(s.window)
	n := 1 + s.random.IntN(6)
	for range n {
		c := &client{s: s, interval: []time.Duration{time.Second, 5 * time.Second}[s.random.IntN(2)], rate: busy / float64(n) * (0.5 + s.random.Float64()), buckets: map[string]*clientBucket{}}
		c.liar = s.faults && s.random.IntN(8) == 0
		s.clients = append(s.clients, c)
	}
	time.Sleep(time.Duration(s.random.IntN(60_000)) * time.Millisecond)
	for _, c := range s.clients {
		c.next = time.Now().Add(c.interval)
	}
	begun := time.Now()
	for time.Since(begun) < 200*time.Second {
		time.Sleep(10 * time.Millisecond)
		s.step()
	}
	if limit.Algorithm == ratelimit.TokenBucket { // it has no windows: in all the time what fits and what came
		whole := windowCount{}
		for _, c := range s.counts {
			whole.admitted, whole.unreported, whole.spill, whole.demand = whole.admitted+c.admitted, whole.unreported+c.unreported, whole.spill+c.spill, whole.demand+c.demand
		}
		rate := float64(limit.RequestsPerUnit) / 60
		s.counts = map[int64]*windowCount{0: &whole}
		whole.spill += int64(rate * (time.Since(begun) + 10*time.Second).Seconds())
	}
	first, last := begun.Unix()/s.window, time.Now().Unix()/s.window
	for w, c := range s.counts {
		s.Windows++
		allowed := int64(limit.RequestsPerUnit) + c.unreported + c.spill
		if c.admitted > allowed {
			sum.Over++
			t.Logf("seed %d: window %d from %d to %d of %v, limit %d, faults %v, servers %d, clients %d: %+v", seed, w, first, last, s.window, limit.RequestsPerUnit, s.faults, len(s.servers), n, *c)
		}
		s.Admitted += int(c.admitted)
		if share := float64(c.admitted) / float64(min(int64(limit.RequestsPerUnit), c.demand)); !s.faults && w > first+1 && w < last && limit.Algorithm == ratelimit.FixedWindow && limit.RequestsPerUnit >= 1000 && s.window == 60 {
			if sum.Worst == 0 || share < sum.Worst {
				sum.Worst = share
			}
		}
	}
	s.Seeds++
}

func (s *simulation) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.servers {
		s.crash(v)
	}
}

func (s *simulation) start() *server {
	leases, err := leasestore.New(s.store, nil)
	require.NoError(s, err)
	skew := time.Duration(s.random.IntN(50)-25) * time.Millisecond
	now := func() time.Time { return time.Now().Add(skew) }
	engine, err := ratelimit.New(leases.Store(), &ratelimit.Options{Now: now})
	require.NoError(s, err)
	require.NoError(s, engine.Use(s.rules))
	service, err := quota.New(engine, &quota.Options{Delay: simDelay, Now: now})
	require.NoError(s, err)
	return &server{service, leases, map[*link]bool{}}
}

func (s *simulation) crash(v *server) {
	for l := range v.links {
		l.cut()
	}
	require.NoError(s, v.service.Close())
	require.NoError(s, v.leases.Close())
}

func (s *simulation) count() *windowCount {
	w := time.Now().Unix() / s.window
	if s.counts[w] == nil {
		s.counts[w] = &windowCount{}
		for _, c := range s.clients { // what clients have that no server knows of
			for _, b := range c.buckets {
				if b.orphaned && b.kind == "tokens" && time.Now().Before(b.ends) {
					s.counts[w].spill += b.left
				}
			}
		}
	}
	return s.counts[w]
}

func (s *simulation) step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults && s.random.IntN(2000) == 0 {
		i := s.random.IntN(len(s.servers))
		v := s.servers[i]
		for l := range v.links {
			for _, b := range l.client.buckets {
				b.orphaned = true
				if now := time.Now(); now.Unix()%s.window == 0 && now.Nanosecond() < 100e6 { // it may not have claimed this yet
					s.count().spill += b.left
				}
			}
		}
		s.Crashes++
		s.crash(v)
		s.cut.Store(0)
		s.servers[i] = s.start()
	}
	if s.faults && s.random.IntN(5000) == 0 {
		s.Breaks++
		s.cut.Store(time.Now().Add(time.Duration(s.random.IntN(10_000)) * time.Millisecond).UnixNano())
	}
	for _, i := range s.random.Perm(len(s.clients)) {
		s.clients[i].step()
	}
}

type client struct {
	s        *simulation
	interval time.Duration
	rate     float64
	due      float64
	next     time.Time
	link     *link
	liar     bool
	down     time.Time // crashed until
	buckets  map[string]*clientBucket
}

type clientBucket struct {
	kind            string
	left, size      int64
	ends            time.Time
	allowed, denied uint64
	orphaned        bool // its server has crashed
}

func (c *client) step() {
	s, now := c.s, time.Now()
	if now.Before(c.down) {
		return
	}
	if s.faults {
		switch s.random.IntN(3000) {
		case 0:
			c.disconnect()
			s.Crashes++
			c.buckets, c.down = map[string]*clientBucket{}, now.Add(time.Duration(s.random.IntN(5000))*time.Millisecond)
			return
		case 1, 2:
			s.Breaks++
			c.disconnect()
		case 3, 4: // the stream is cut off for a while, and ends
			if l := c.link; l != nil {
				s.Breaks++
				l.held = true
				time.AfterFunc(time.Duration(s.random.IntN(20_000))*time.Millisecond, l.end)
			}
		case 5:
			c.rate *= 4 * s.random.Float64()
		}
	}
	for c.due += c.rate * 0.01 * 2 * s.random.Float64(); c.due >= 1; c.due-- {
		c.request("ann")
	}
	if !now.Before(c.next) {
		c.next = c.next.Add(c.interval)
		if len(c.buckets) > 0 {
			c.report(slices.Sorted(maps.Keys(c.buckets))...)
		}
	}
}

func (c *client) request(id string) {
	s, w := c.s, c.s.count()
	w.demand++
	b := c.buckets[id]
	if b == nil {
		b = &clientBucket{denied: 1}
		c.buckets[id] = b
		s.Refused++
		c.report(id)
		return
	}
	if !time.Now().Before(b.ends) {
		b.kind = ""
	}
	switch {
	case b.kind == "tokens" && b.left > 0:
		b.left--
		b.allowed++
		w.admitted++
		s.Admitted++
		if c.liar {
			w.unreported++
		}
	default:
		b.denied++
		s.Refused++
	}
}

func (c *client) report(ids ...string) {
	if c.link == nil || c.link.dead {
		c.connect()
	}
	m := &rlqs.RateLimitQuotaUsageReports{Domain: "shop"}
	for _, id := range ids {
		b := c.buckets[id]
		u := &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": id}}, NumRequestsAllowed: b.allowed, NumRequestsDenied: b.denied}
		if c.liar {
			u.NumRequestsAllowed, u.NumRequestsDenied = c.s.random.Uint64()>>c.s.random.IntN(64), c.s.random.Uint64()>>c.s.random.IntN(64)
		}
		m.BucketQuotaUsages = append(m.BucketQuotaUsages, u)
		b.allowed, b.denied = 0, 0
	}
	c.link.toServer(m)
}

func (c *client) connect() {
	s := c.s
	v := s.servers[s.random.IntN(len(s.servers))]
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{client: c, server: v, ctx: ctx, cancel: cancel, requests: make(chan *rlqs.RateLimitQuotaUsageReports, 1000)}
	v.links[l] = true
	c.link = l
	go func() {
		_ = v.service.StreamRateLimitQuotas(l)
		l.end()
	}()
}

func (c *client) disconnect() {
	if c.link != nil {
		c.link.cut()
	}
}

// receive applies a message as Envoy 1.40 does.
func (c *client) receive(m *rlqs.RateLimitQuotaResponse) {
	c.s.Messages++
	for _, a := range m.BucketAction {
		b := c.buckets[a.BucketId.Bucket["client"]]
		if b == nil {
			continue
		}
		if a.GetAbandonAction() != nil {
			delete(c.buckets, a.BucketId.Bucket["client"])
			continue
		}
		assignment := a.GetQuotaAssignmentAction()
		expired := !time.Now().Before(b.ends)
		b.ends = time.Now().Add(assignment.AssignmentTimeToLive.AsDuration().Truncate(time.Second))
		b.orphaned = false
		switch strategy := assignment.RateLimitStrategy.Strategy.(type) {
		case *typev3.RateLimitStrategy_BlanketRule_:
			require.Equal(c.s, typev3.RateLimitStrategy_DENY_ALL, strategy.BlanketRule)
			b.kind = "deny"
		case *typev3.RateLimitStrategy_TokenBucket:
			n := int64(strategy.TokenBucket.MaxTokens)
			if b.kind != "tokens" || expired {
				b.left = n
			}
			require.True(c.s, b.kind != "tokens" || expired || b.size == n, "Envoy would keep a share of its tokens: %d instead of %d", n, b.size)
			b.kind, b.size = "tokens", n
		default:
			require.Fail(c.s, "not enforced")
		}
	}
}

// link is a stream.
type link struct {
	grpc.ServerStream
	client     *client
	server     *server
	ctx        context.Context
	cancel     context.CancelFunc
	requests   chan *rlqs.RateLimitQuotaUsageReports
	up, down   time.Time // when the last message arrives
	held, dead bool
}

func (l *link) end() {
	l.client.s.mu.Lock()
	defer l.client.s.mu.Unlock()
	l.cut()
}

// cut requires the lock.
func (l *link) cut() {
	l.dead = true
	delete(l.server.links, l)
	l.cancel()
}

func (l *link) SendHeader(metadata.MD) error { return nil }

func (l *link) Context() context.Context { return l.ctx }

// after calls do when a message arrives: in order, and in time.
func (l *link) after(last *time.Time, do func()) {
	d := time.Duration(l.client.s.random.IntN(int(simDelay/2/time.Millisecond))) * time.Millisecond
	if l.client.s.random.IntN(4) > 0 {
		d /= 50
	}
	at := time.Now().Add(d)
	if !at.After(*last) { // what happens at the same time happens in any order
		at = last.Add(time.Nanosecond)
	}
	*last = at
	time.AfterFunc(time.Until(at), func() {
		l.client.s.mu.Lock()
		defer l.client.s.mu.Unlock()
		if !l.dead && !l.held {
			do()
		}
	})
}

func (l *link) toServer(m *rlqs.RateLimitQuotaUsageReports) {
	l.after(&l.up, func() {
		select {
		case l.requests <- m:
		default:
		}
	})
}

func (l *link) Recv() (*rlqs.RateLimitQuotaUsageReports, error) {
	select {
	case m := <-l.requests:
		return m, nil
	case <-l.ctx.Done():
		return nil, io.EOF
	}
}

func (l *link) Send(m *rlqs.RateLimitQuotaResponse) error {
	l.client.s.mu.Lock()
	defer l.client.s.mu.Unlock()
	if l.ctx.Err() != nil {
		return io.EOF
	}
	l.after(&l.down, func() { l.client.receive(m) })
	return nil
}

// TestHotBucket has three clients share 100,000 a minute at two servers, at a demand of 150 %.
func TestHotBucket(t *testing.T) {
	var sum tally
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{T: t, tally: &sum, random: rand.New(rand.NewPCG(1, 0)), counts: map[int64]*windowCount{}, store: memstore.MustNew(nil), window: 60}
		limit := ratelimit.Limit{RequestsPerUnit: 100_000, Unit: ratelimit.Minute}
		var err error
		s.rules, err = ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{{Key: "client", Limit: &limit}}}}, nil)
		require.NoError(t, err)
		s.servers = append(s.servers, s.start(), s.start())
		defer s.end()
		for i := range 3 {
			s.clients = append(s.clients, &client{s: s, interval: 5 * time.Second, rate: 2500.0 / 3, buckets: map[string]*clientBucket{}, next: time.Now().Add(time.Duration(50+i) * time.Second)})
		}
		time.Sleep(50 * time.Second)
		for end := time.Now().Add(190 * time.Second); time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
			s.step()
		}
		first := slices.Min(slices.Collect(maps.Keys(s.counts)))
		for w := first; w < first+4; w++ {
			require.LessOrEqual(t, s.counts[w].admitted, int64(100_000))
			if w > first+1 {
				require.GreaterOrEqual(t, s.counts[w].admitted, int64(98_000))
			}
		}
	})
}
