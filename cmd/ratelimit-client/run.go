package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "ratelimit-client -domain NAME -descriptors NAME=VALUE,... [flags]", Args: cli.Args(0, 0, "no arguments: use -descriptors for descriptors"),
		Long: "ratelimit-client sends requests to a v3 rate limit service and prints the decisions. With an admin token it reads and changes counters. It shows quotas as Envoy gets them.",
		Example: `  ratelimit-client -domain demo -descriptors client=alice -n 10
    	ten requests with a line each
  ADMIN_TOKEN_FILE=token ratelimit-client -domain demo -descriptors client=alice -reset
    	sets the counter back`,
		Annotations: map[string]string{cli.ExitCodes: "1 also for a refused request with -fail"},
	}
	o := &options{}
	o.define(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := errors.Join(o.validate(), o.counters.validate(o, c.Flags().Changed, env.Environ)); err != nil {
			return &cli.UsageError{Err: err}
		}
		if o.quota && !c.Flags().Changed("n") {
			o.repeat = math.MaxInt
		}
		return o.run(c.Context(), env)
	}
	return env.Execute(ctx, c)
}

// run sends the requests.
func (o *options) run(ctx context.Context, env cli.Env) error {
	transport := insecure.NewCredentials()
	if o.useTLS {
		config, err := tlsfiles.ClientConfig(o.tls, nil)
		if err != nil {
			return fmt.Errorf("-grpc-server-ca-file, -grpc-cert-file, -grpc-key-file: %w", err)
		}
		transport = credentials.NewTLS(config)
	}
	p := &printer{out: env.Stdout, json: o.json, color: o.color.On(env), descriptors: o.descriptors, counters: &o.counters}
	if o.traceProto != "" {
		fmt.Fprintln(env.Stderr, "ratelimit-client: -oltp-protocol has no effect: this client does not export trace spans")
	}
	conn, err := grpc.NewClient(o.address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return fmt.Errorf("error connecting: %w", err)
	}
	defer conn.Close()
	if o.quota {
		return o.quotas(ctx, conn, p)
	}
	return o.sendAll(ctx, conn, p, env.Stderr)
}

// sendAll sends the request the specified number of times, or until one fails.
func (o *options) sendAll(ctx context.Context, conn *grpc.ClientConn, p *printer, stderr io.Writer) error {
	request := o.request()
	for range o.repeat {
		response, err := o.send(ctx, conn, request)
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
	err := p.summary(o.repeat, stderr)
	if err == nil && o.fail && p.refused {
		err = errors.New("") // the response is already printed; an empty error only sets the exit code
	}
	return err
}

func (o *options) send(ctx context.Context, conn *grpc.ClientConn, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if o.counters.method != "" {
		return o.counters.call(ctx, conn, in)
	}
	return ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, in)
}
