package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// options contains the validated flags.
type options struct {
	flags *flag.FlagSet

	address     string
	domain      string
	descriptors descriptorsFlag
	traceProto  string
	tls         tlsOptions
	counters    countersOptions

	hits    uint64
	json    bool
	fail    bool
	color   cli.Color
	repeat  int
	timeout time.Duration
}

func parseOptions(env cli.Env) (*options, error) {
	o := &options{flags: flag.NewFlagSet("ratelimit-client", flag.ContinueOnError)}
	o.define(o.flags)
	help := &cli.Help{
		About: "ratelimit-client sends requests to a v3 rate limit service and prints the decisions. With an admin token it reads and changes counters.",
		Usage: []string{"ratelimit-client -domain NAME -descriptors NAME=VALUE,... [flags]"},
		Examples: [][2]string{
			{"ratelimit-client -domain demo -descriptors client=alice -n 10", "ten requests with a line each"},
			{"ADMIN_TOKEN_FILE=token ratelimit-client -domain demo -descriptors client=alice -reset", "sets the counter back"},
		},
		Exit: []string{"1 also for a refused request with -fail"},
	}
	help.Define(o.flags)
	if err := env.Parse(o.flags); err != nil {
		return nil, err
	}
	if err := errors.Join(o.validate(), o.counters.validate(o, env.Environ)); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return o, nil
}

func (o *options) define(f *flag.FlagSet) {
	f.StringVar(&o.address, "dial_string", "localhost:8081", "`address` of the rate limit service: host:port, or unix:path")
	f.StringVar(&o.domain, "domain", "", "`name` of the rate limit domain")
	f.Var(&o.descriptors, "descriptors", "one descriptor as comma-separated `name=value` pairs; repeatable")
	f.StringVar(&o.traceProto, "oltp-protocol", "", "accepted for compatibility, no effect: `protocol` of the trace exporter, http or grpc")
	o.tls.flags(f)
	o.counters.flags(f)

	f.Uint64Var(&o.hits, "hits", 1, "number of hits to add for each descriptor; 0 reads the counters without incrementing them")
	f.BoolVar(&o.json, "json", false, "print only the responses, as proto3 JSON, one per line")
	f.BoolVar(&o.fail, "fail", false, "exit with 1 if a request is refused")
	o.color.Define(f)
	f.IntVar(&o.repeat, "n", 1, "send the request `count` times and print a summary")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "timeout of each request, also sent as its deadline; 0 means no timeout")
}

func (o *options) validate() error {
	var errs []error
	bad := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.flags.NArg() > 0, "unexpected argument %q: use -descriptors for descriptors", o.flags.Arg(0))
	bad(o.domain == "", "-domain is missing: set it to the name of a rate limit domain")
	bad(len(o.descriptors.list) == 0, "-descriptors is missing: specify at least one, such as -descriptors client=alice")
	bad(o.traceProto != "" && o.traceProto != "http" && o.traceProto != "grpc", "unknown -oltp-protocol %q: use http or grpc, or omit the flag", o.traceProto)
	bad(o.hits > math.MaxUint32, "-hits %d is too large: the maximum is %d", o.hits, uint32(math.MaxUint32))
	bad(o.repeat < 1, "invalid -n %d: use at least 1", o.repeat)
	bad(o.timeout < 0, "negative -timeout %v: use a positive duration, or 0 for no timeout", o.timeout)
	return errors.Join(append(errs, o.tls.validate())...)
}

// request returns the request to send. To add no hits, it sets the hits of every descriptor
// to 0: in the request itself, 0 means unset and counts as 1.
func (o *options) request() *ratelimitv3.RateLimitRequest {
	in := &ratelimitv3.RateLimitRequest{Domain: o.domain, HitsAddend: uint32(o.hits)}
	for _, entries := range o.descriptors.list {
		d := &commonv3.RateLimitDescriptor{Entries: entries}
		if o.hits == 0 {
			d.HitsAddend = wrapperspb.UInt64(0)
		}
		in.Descriptors = append(in.Descriptors, d)
	}
	return in
}
