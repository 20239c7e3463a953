package xds

import (
	"context"
	"math/rand/v2"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

// run is what one call of Run knows.
type run struct {
	*Client
	load   func(*Update) error
	failed func(error)

	reached  bool   // the server, at least once
	failures int    // attempts in a row, as Backoff.Wait counts them
	accepted string // the version in use, empty for none

	refusals int    // updates in a row
	reported string // the last refusal that failed has heard of
}

// attempt opens a stream and follows it to its end.
func (r *run) attempt(ctx context.Context) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(withHeaders(ctx, r.opts.Headers))
	defer cancel(nil)
	in, err := r.open(ctx, cancel, conn)
	if err != nil {
		return r.explainOpen(ctx, err)
	}
	r.reach()
	began := time.Now()
	s := &stream{run: r, ads: in}
	err = s.follow()
	r.settle(s.answered, time.Since(began))
	return r.explain(err)
}

type adsClient = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient

// open returns when there is a connection. The context of a stream has to live as
// long as the stream, so the bound on opening it can't be a deadline.
func (r *run) open(ctx context.Context, cancel context.CancelCauseFunc, conn *grpc.ClientConn) (adsClient, error) {
	timer := time.AfterFunc(r.opts.ConnectTimeout, func() { cancel(errConnectTimeout) })
	defer timer.Stop()
	return discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
}

// reach notes that the server is there. The first time, what was waited until then
// does not count.
func (r *run) reach() {
	if !r.reached {
		r.reached, r.failures = true, 0
	}
	r.opts.Log.Info("connected to the configuration server", "server", r.target, "version", r.accepted)
}

// settle makes waits short again after a stream that was of use. A server that ends
// each stream at once is none, even if it answers first; one that had nothing to say
// for long is.
func (r *run) settle(answered bool, lasted time.Duration) {
	b := r.opts.Backoff
	if answered && lasted >= b.Initial || lasted >= b.Max {
		r.failures = 0
	}
}

// wait is how long to wait after one more failure.
func (r *run) wait() time.Duration {
	b := r.opts.Backoff
	if !r.reached {
		b.Initial = r.opts.RetryInterval
	}
	w := b.Wait(r.failures, rand.Float64())
	r.failures++
	return w
}

// sleep returns ctx's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
