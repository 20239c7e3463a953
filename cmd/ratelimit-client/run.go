package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func run(ctx context.Context, env cli.Env) error {
	o, err := parseOptions(env)
	if err != nil {
		return err
	}
	credentials, err := o.tls.credentials()
	if err != nil {
		return err
	}
	p := &printer{out: env.Stdout, json: o.json, color: o.color.On(env), descriptors: &o.descriptors, counters: &o.counters}
	if o.traceProto != "" {
		fmt.Fprintln(env.Stderr, "ratelimit-client: -oltp-protocol has no effect: this client does not export trace spans")
	}
	conn, err := grpc.NewClient(o.address, grpc.WithTransportCredentials(credentials))
	if err != nil {
		return fmt.Errorf("error connecting: %w", err)
	}
	defer conn.Close()
	return o.sendAll(ctx, o.counters.client(conn), p, env.Stderr)
}

// sendAll sends the request the specified number of times, or until one fails.
func (o *options) sendAll(ctx context.Context, client ratelimitv3.RateLimitServiceClient, p *printer, stderr io.Writer) error {
	request := o.request()
	for range o.repeat {
		response, err := o.send(ctx, client, request)
		switch {
		case err == nil:
			err = errors.Join(p.response(response), o.counters.unchanged(response))
		case ctx.Err() != nil: // interrupted by a signal
			err = context.Cause(ctx)
		default:
			err = fmt.Errorf("request error: %w", err)
		}
		if err != nil {
			return errors.Join(p.summary(o.repeat, stderr), err)
		}
	}
	return errors.Join(p.summary(o.repeat, stderr), p.verdict(o.fail))
}

func (o *options) send(ctx context.Context, client ratelimitv3.RateLimitServiceClient, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	return client.ShouldRateLimit(ctx, in)
}
