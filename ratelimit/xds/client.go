package xds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/settings"
)

// Client reads configuration from one aggregated discovery server. It holds no
// connection and needs no Close: Run opens and closes its own.
type Client struct {
	target string
	opts   Options
	node   *corev3.Node
}

// New returns a client of the server at target: "host:port" or another gRPC target such
// as "unix:/run/config.sock" (CONFIG_GRPC_XDS_SERVER_URL). It does not contact the
// server or resolve its name. The error names all invalid values of target and opts,
// which may be nil.
func New(target string, opts *Options) (*Client, error) {
	o, err := opts.withDefaults()
	if err := errors.Join(checkTarget(target), err); err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	c := &Client{target: target, opts: o, node: &corev3.Node{Id: o.NodeID}}
	if len(o.NodeMetadata) > 0 {
		fields := make(map[string]*structpb.Value, len(o.NodeMetadata))
		for name, value := range o.NodeMetadata {
			fields[name] = structpb.NewStringValue(value)
		}
		c.node.Metadata = &structpb.Struct{Fields: fields}
	}
	conn, err := c.dial()
	if err != nil {
		return nil, fmt.Errorf("xds: server address '%s': %w", target, err)
	}
	return c, conn.Close()
}

// checkTarget rejects targets that gRPC accepts but would look up at port 443 or under
// another name.
func checkTarget(target string) error {
	scheme, _, ok := strings.Cut(target, ":")
	if ok && resolver.Get(scheme) != nil {
		return nil
	}
	if err := settings.CheckHostPort(target); err != nil {
		return fmt.Errorf("server address %s %w", settings.Quote(target), err)
	}
	return nil
}

// dial returns a connection that is opened by its first stream.
func (c *Client) dial() (*grpc.ClientConn, error) {
	o := &c.opts
	transport := insecure.NewCredentials()
	if o.TLS != nil {
		transport = credentials.NewTLS(o.TLS)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: grpcbackoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithDisableServiceConfig(), // the name service does not configure the client
		grpc.WithDisableRetry(),
	}
	return grpc.NewClient(c.target, append(opts, o.DialOptions...)...)
}

// RejectedError is reported when an update was rejected. The previous configuration
// stays in use, or with Partial that of the resources with faults.
type RejectedError struct {
	Version string // of the update
	Err     error  // config.Faults, or the error of Run's load
	Partial bool   // the resources without faults are in use
}

// Error returns the version and the reasons, one per line.
func (e *RejectedError) Error() string {
	extent := ""
	if e.Partial {
		extent = " in part"
	}
	return fmt.Sprintf("configuration version '%s' rejected%s: %v", printable.Truncate(e.Version, 100), extent, e.Err)
}

// Unwrap returns Err.
func (e *RejectedError) Unwrap() error { return e.Err }

// connectionError is a failure to open a stream, or its end, in one line.
type connectionError struct {
	target string
	err    error
	wait   time.Duration // until the next attempt
}

func (e *connectionError) Error() string {
	return fmt.Sprintf("configuration server %s: %s; next attempt in %v", e.target, printable.Truncate(e.err.Error(), 1000), e.wait)
}

func (e *connectionError) Unwrap() error { return e.err }

// Run follows the server's configuration until ctx ends. It returns when everything that
// it started has ended.
//
// Run calls load with each update, one at a time. If load returns nil, the update is in
// use and is acknowledged; an error rejects it and is sent to the server. An update may
// be equal to the previous one. A response with faults in some of its resources is used
// without them, see [Update].Faults, and rejected; with Options.Strict, or if none of them
// can be used, it is only rejected.
//
// Run calls failed with a [*RejectedError] for each rejected update, and with another
// error, usually of package grpc/status, each time a stream ended or could not be
// opened. If failed is nil, the errors are logged.
//
// Calls of Run are independent: each starts without a configuration.
func (c *Client) Run(ctx context.Context, load func(*Update) error, failed func(error)) {
	if failed == nil {
		failed = func(err error) { c.opts.Log.Warn("configuration from the server", "err", err) }
	}
	r := &run{Client: c, load: load, failed: failed}
	for {
		err := r.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		schedule := backoff.Backoff{Initial: r.opts.RetryInterval, Max: r.opts.Backoff.Max, Factor: 1 + r.opts.Backoff.Factor}
		if r.reached {
			schedule.Initial = r.opts.Backoff.Initial
		}
		if r.opts.Backoff.Jitter {
			schedule.Jitter = 0.5
		}
		wait := schedule.Wait(r.failures)
		r.failures++
		failed(&connectionError{c.target, err, wait})
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// run is the state of one call of Run.
type run struct {
	*Client
	load   func(*Update) error
	failed func(error)

	reached  bool   // a stream was opened at least once
	failures int    // since the last useful stream
	accepted string // last version that was accepted as a whole, empty for none

	inUse      []resource                     // of the last update, unless Options.Strict
	inPart     *discoveryv3.DiscoveryResponse // the last response if it was used in part
	inPartErrs *RejectedError                 // why not all of it

	rejections int    // since the last accepted update
	reported   string // the last rejection that failed was called with
}

var errConnectTimeout = errors.New("timed out")

// attempt opens a stream and follows it to its end.
func (r *run) attempt(ctx context.Context) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, h := range r.opts.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, h.Name, h.Value)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A deadline would also end the stream, so a timer bounds its opening.
	timer := time.AfterFunc(connectTimeout, func() { cancel(errConnectTimeout) })
	ads, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	timer.Stop()
	if err != nil {
		if context.Cause(ctx) == errConnectTimeout {
			return fmt.Errorf("no connection within %v: %w", connectTimeout, err)
		}
		return err
	}
	if !r.reached {
		r.reached, r.failures = true, 0
	}
	r.opts.Log.Info("connected to the configuration server", "server", r.target, "version", r.accepted)
	opened := time.Now()
	s := &stream{run: r, ads: ads}
	err = s.follow()
	// A stream was useful if it had a response and did not end at once, or lasted long.
	b, lasted := r.opts.Backoff, time.Since(opened)
	if s.received && lasted >= b.Initial || lasted >= b.Max {
		r.failures = 0
	}
	return err
}
