package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func run(ctx context.Context, env cli.Env) error {
	var o options
	flags := o.flags()
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: descriptors are given with -descriptors", flags.Arg(0))
	}
	request, err := o.request()
	if err != nil {
		return err
	}
	printFlags(env.Stdout, flags)
	response, err := o.ask(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "response: %s\n", textOf(response))
	return nil
}

type options struct {
	address     string
	domain      string
	descriptors descriptorsFlag
	hits        uint
	timeout     time.Duration
	tls         tlsOptions
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("ratelimit-client", flag.ContinueOnError)
	f.StringVar(&o.address, "dial_string", "localhost:8081", "`address` of the rate limit service")
	f.StringVar(&o.domain, "domain", "", "`name` of the domain whose rules apply")
	f.Var(&o.descriptors, "descriptors", "one descriptor as comma-separated `name=value` pairs; may be given more than once")
	f.UintVar(&o.hits, "hits_addend", 1, "how many hits the request counts for")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	o.tls.flags(f)
	return f
}

func (o *options) request() (*ratelimitv3.RateLimitRequest, error) {
	switch {
	case o.domain == "":
		return nil, cli.Usagef("-domain is missing: name the domain whose rules apply")
	case len(o.descriptors.list) == 0:
		return nil, cli.Usagef("-descriptors is missing: give at least one, such as -descriptors client=alice")
	case uint64(o.hits) > 1<<32-1:
		return nil, cli.Usagef("-hits_addend %d is too large: the protocol holds up to 4294967295", o.hits)
	}
	return &ratelimitv3.RateLimitRequest{Domain: o.domain, Descriptors: o.descriptors.list, HitsAddend: uint32(o.hits)}, nil
}

func (o *options) ask(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	credentials, err := o.tls.credentials()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(o.address, grpc.WithTransportCredentials(credentials))
	if err != nil {
		return nil, fmt.Errorf("error connecting: -dial_string %q: %w", o.address, err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	out, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("request error: %w", err)
	}
	return out, nil
}

// printFlags shows what the request was made with, sorted by name.
func printFlags(w io.Writer, f *flag.FlagSet) {
	f.VisitAll(func(f *flag.Flag) { fmt.Fprintf(w, "Flag: --%s=%q\n", f.Name, f.Value) })
}

// textOf is the message on one line. The library's own text form varies its white
// space from build to build so that nobody compares it; people read this one.
func textOf(m *ratelimitv3.RateLimitResponse) string {
	text := prototext.MarshalOptions{Multiline: true, Indent: " "}.Format(m)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		name, value, isField := strings.Cut(strings.TrimSpace(line), ":")
		if isField {
			name += ":" + strings.TrimSpace(value)
		}
		lines[i] = name
	}
	return strings.Join(lines, " ")
}

// descriptorsFlag collects the descriptors of repeated flags.
type descriptorsFlag struct {
	list  []*commonv3.RateLimitDescriptor
	texts []string
}

// String is what was given, for printFlags.
func (d *descriptorsFlag) String() string { return strings.Join(d.texts, " ") }

// Set adds one descriptor. Values may hold "=" but no comma.
func (d *descriptorsFlag) Set(text string) error {
	descriptor := &commonv3.RateLimitDescriptor{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return fmt.Errorf("invalid descriptor list: %q is not name=value", pair)
		}
		descriptor.Entries = append(descriptor.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	d.list = append(d.list, descriptor)
	d.texts = append(d.texts, text)
	return nil
}
