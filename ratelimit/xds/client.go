package xds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/types/known/structpb"
)

// Client takes configuration from one aggregated discovery server. Make one with
// New. It holds no connection and needs no Close: all of that belongs to Run.
type Client struct {
	target string
	opts   Options
	node   *corev3.Node
}

// New returns a client of the server at target, "host:port" or another target of
// gRPC such as "unix:/run/config.sock" (CONFIG_GRPC_XDS_SERVER_URL). The server is
// not contacted. The error names everything that is wrong with target and opts, which
// may be nil.
func New(target string, opts *Options) (*Client, error) {
	o := opts.withDefaults()
	if err := errors.Join(checkTarget(target), o.check()); err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	o.Headers = slices.Clone(o.Headers)
	o.DialOptions = slices.Clone(o.DialOptions)
	c := &Client{target: target, opts: o, node: newNode(&o)}
	conn, err := c.dial()
	if err != nil {
		return nil, fmt.Errorf("xds: server address '%s': %w", target, err)
	}
	return c, conn.Close()
}

// checkTarget refuses what gRPC would take, and then look for at port 443 or under an
// odd name.
func checkTarget(target string) error {
	scheme, _, ok := strings.Cut(target, ":")
	if ok && resolver.Get(scheme) != nil {
		return nil
	}
	host, port, err := net.SplitHostPort(target)
	number, badPort := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || strings.Contains(host, "/") || badPort != nil || number == 0 {
		return fmt.Errorf("server address '%s': must be host:port, such as localhost:18000", target)
	}
	return nil
}

func newNode(o *Options) *corev3.Node {
	n := &corev3.Node{Id: o.NodeID}
	if len(o.NodeMetadata) == 0 {
		return n
	}
	n.Metadata = &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.NodeMetadata))}
	for name, value := range o.NodeMetadata {
		n.Metadata.Fields[name] = structpb.NewStringValue(value)
	}
	return n
}

// dial returns a connection that does nothing until a stream is opened on it.
func (c *Client) dial() (*grpc.ClientConn, error) {
	o := &c.opts
	transport := insecure.NewCredentials()
	if o.TLS != nil {
		transport = credentials.NewTLS(o.TLS)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(o.MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: o.ConnectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: o.KeepaliveTime, Timeout: o.KeepaliveTimeout}),
		// The server's name says where it is, not how to talk to it.
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}
	return grpc.NewClient(c.target, append(opts, o.DialOptions...)...)
}

// Run follows the server's configuration until ctx ends and all that it started has
// been wound up.
//
// It calls load with each update, one at a time. When load returns nil the update is
// in use, and is acknowledged; an error refuses it, and its text goes to the server.
// An update may be equal to the one before.
//
// It calls failed with a *RejectedError for each update that is refused, and a
// *ConnectionError for each time the stream ended or could not be opened. If failed is
// nil they are logged.
//
// Runs of one client have nothing in common: each begins without a configuration.
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
		wait := r.wait()
		failed(&ConnectionError{Target: c.target, Err: err, Wait: wait})
		if sleep(ctx, wait) != nil {
			return
		}
	}
}
