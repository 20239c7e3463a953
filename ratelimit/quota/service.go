package quota

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options are the optional parts of a Service. Nil, like each zero field, means the default.
type Options struct {
	// TTL is the time after which an assignment ends that is not renewed, in whole seconds. Default: 10 seconds; at most
	// an hour. It bounds how long a client that lost the service uses what it has, and for how long
	// what a dead client had is missing.
	TTL time.Duration
	// Delay is the longest time that a message may take to a client. One that takes longer may let the client use
	// what it had before on top. Default: 500 milliseconds; at most a minute.
	Delay time.Duration
	// Idle is the time without a request after which a client is told to forget a bucket. Default: a minute; at
	// most a day.
	Idle time.Duration
	// MaxStreams limits the open streams. Default: 1,000; at most a million.
	MaxStreams int
	// MaxBuckets limits the buckets of a stream. Default: 10,000; at most a million.
	MaxBuckets int
	// MaxTotal limits the buckets of all streams together, each stream's counted, and all that clients have left and may
	// still use. Default: 200,000; at most 100 million.
	MaxTotal int
	// ShadowMode lets everything pass and counts what is reported, as Options.ShadowMode of the engine does.
	ShadowMode bool
	// Timeout limits a call of the counter store. Default: 5 seconds; at most a minute.
	Timeout time.Duration
	// Now is the clock of the engine's windows. Default: time.Now.
	Now func() time.Time
	// OnError, if not nil, is called with each failure of the engine, to log and count it. It must not block.
	OnError func(ctx context.Context, err error)
}

// Service assigns quotas. It is a RateLimitQuotaServiceServer. Create it with New, and close it.
type Service struct {
	rlqs.UnimplementedRateLimitQuotaServiceServer // methods of future versions

	engine *ratelimit.Engine
	opts   Options
	kick   chan struct{} // holds a value if fresh has buckets
	cancel context.CancelFunc
	ended  chan struct{} // closed when no round runs any more
	closed <-chan struct{}

	mu      sync.Mutex
	rules   *ratelimit.Ruleset // by which buckets were resolved
	buckets map[bucketKey]*bucket
	fresh   []*bucket // with leases that have no assignment yet
	streams int
	leases  int
}

var _ rlqs.RateLimitQuotaServiceServer = (*Service)(nil)

// New returns a Service over engine. opts may be nil. The error names every invalid option.
func New(engine *ratelimit.Engine, opts *Options) (*Service, error) {
	s := &Service{engine: engine, opts: *cmp.Or(opts, &Options{}), kick: make(chan struct{}, 1), ended: make(chan struct{}), buckets: map[bucketKey]*bucket{}}
	o := &s.opts
	var errs []error
	settings.Default(&errs, "option TTL", &o.TTL, 10*time.Second, time.Hour)
	settings.Default(&errs, "option Delay", &o.Delay, 500*time.Millisecond, time.Minute)
	settings.Default(&errs, "option Idle", &o.Idle, time.Minute, 24*time.Hour)
	settings.Default(&errs, "option MaxStreams", &o.MaxStreams, 1000, 1e6)
	settings.Default(&errs, "option MaxBuckets", &o.MaxBuckets, 10_000, 1e6)
	settings.Default(&errs, "option MaxTotal", &o.MaxTotal, 200_000, 1e8)
	settings.Default(&errs, "option Timeout", &o.Timeout, 5*time.Second, time.Minute)
	if o.TTL%time.Second != 0 {
		errs = append(errs, errors.New("option TTL must be whole seconds: clients ignore parts of a second"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.closed = cancel, ctx.Done()
	go s.run(ctx)
	return s, nil
}

// Register registers the service on a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	rlqs.RegisterRateLimitQuotaServiceServer(r, s)
}

// Close ends all streams and waits for calls of the engine. What was assigned stays counted.
func (s *Service) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

// stream is a stream of a client.
type stream struct {
	domain  string
	client  string
	leases  map[bucketKey]*lease
	wake    chan struct{}        // holds a value if there is something to send
	pending map[bucketKey]action // to send; the last one of each bucket
}

// StreamRateLimitQuotas implements the service. Statuses that end a stream:
//
//	InvalidArgument     no domain, another domain than before, a bucket without entries or with large ones
//	NotFound            the domain is not configured
//	ResourceExhausted   Options.MaxStreams, MaxBuckets or MaxTotal
//	Unavailable         no configuration is loaded, or the service was closed
func (s *Service) StreamRateLimitQuotas(grpcStream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	st := &stream{leases: map[bucketKey]*lease{}, wake: make(chan struct{}, 1), pending: map[bucketKey]action{}}
	s.mu.Lock()
	if s.streams >= s.opts.MaxStreams {
		s.mu.Unlock()
		return status.Errorf(codes.ResourceExhausted, "there are %d streams already: try again later", s.opts.MaxStreams)
	}
	s.streams++
	s.mu.Unlock()
	defer s.leave(st)
	if p, ok := peer.FromContext(grpcStream.Context()); ok {
		st.client = p.Addr.String()
	}
	if err := grpcStream.SendHeader(nil); err != nil { // the client waits for no assignment before it reports
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.receive(grpcStream, st) }() // ends with the stream's context
	for {
		select {
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-s.closed:
			return status.Error(codes.Unavailable, "the server is shutting down")
		case <-st.wake:
			if err := s.send(grpcStream, st); err != nil {
				return err
			}
		}
	}
}

// receive notes the reports of a stream until it ends.
func (s *Service) receive(grpcStream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer, st *stream) error {
	for {
		m, err := grpcStream.Recv()
		if err != nil {
			return err
		}
		if err := s.report(st, m); err != nil {
			return err
		}
	}
}

// report notes a report.
func (s *Service) report(st *stream, m *rlqs.RateLimitQuotaUsageReports) error {
	rules := s.engine.Rules()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case rules == nil:
		return status.Error(codes.Unavailable, "no configuration is loaded yet: try again later")
	case m.GetDomain() == "" && st.domain == "":
		return status.Error(codes.InvalidArgument, "the first report has no domain")
	case st.domain != "" && m.GetDomain() != "" && m.GetDomain() != st.domain:
		return status.Errorf(codes.InvalidArgument, "the stream is for domain %q: open another one for domain %q", st.domain, m.GetDomain())
	case st.domain == "" && !rules.Has(m.GetDomain()):
		return status.Errorf(codes.NotFound, "domain %q is not configured", m.GetDomain())
	}
	st.domain = cmp.Or(st.domain, m.GetDomain())
	now := s.opts.Now()
	for _, u := range m.GetBucketQuotaUsages() {
		key, entries, err := keyOf(st.domain, u.GetBucketId().GetBucket())
		if err != nil {
			return err
		}
		e := st.leases[key]
		if e == nil {
			if len(st.leases) >= s.opts.MaxBuckets || max(s.leases, len(s.buckets)) >= s.opts.MaxTotal {
				return status.Errorf(codes.ResourceExhausted, "too many buckets: a stream may have %d, and all together %d", s.opts.MaxBuckets, s.opts.MaxTotal)
			}
			e = s.subscribe(st, key, entries, rules, now)
		}
		e.report(u.GetNumRequestsAllowed(), u.GetNumRequestsDenied(), now, s.opts.Delay)
		s.record(e.bucket, min(u.GetNumRequestsAllowed(), maxHits), min(u.GetNumRequestsDenied(), maxHits))
	}
	return nil
}

// subscribe adds a lease. s.mu is held.
func (s *Service) subscribe(st *stream, key bucketKey, entries []ratelimit.Entry, rules *ratelimit.Ruleset, now time.Time) *lease {
	b := s.buckets[key]
	if b == nil {
		b = &bucket{key: key, id: entries}
		b.resolve(rules, s.opts.ShadowMode)
		s.buckets[key] = b
	}
	e := &lease{bucket: b, stream: st, reported: now, hit: now, interval: firstInterval}
	b.leases = append(b.leases, e)
	st.leases[key] = e
	s.leases++
	s.refresh(b)
	s.wake()
	return e
}

// drop removes a lease. Its client may go on until its assignments have ended. s.mu is held.
func (s *Service) drop(e *lease, now time.Time) {
	e.bucket.remove(e)
	e.bucket.orphan(append(e.older, orphan{e.last, e.ends(now, s.opts.Delay)}))
	delete(e.stream.leases, e.bucket.key)
	s.leases--
}

// leave drops the leases of a stream.
func (s *Service) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for _, e := range st.leases {
		s.drop(e, now)
	}
	s.streams--
}

// send sends what is pending.
func (s *Service) send(grpcStream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer, st *stream) error {
	s.mu.Lock()
	pending := st.pending
	st.pending = map[bucketKey]action{}
	s.mu.Unlock()
	m := &rlqs.RateLimitQuotaResponse{}
	for _, a := range pending {
		m.BucketAction = append(m.BucketAction, a.messages()...)
	}
	if len(m.BucketAction) == 0 {
		return nil
	}
	if err := grpcStream.Send(m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for _, a := range pending {
		switch e := a.lease; {
		case e.version != a.version:
		case a.renew:
			e.renewed = now
		default:
			e.sent = now
		}
	}
	return nil
}
