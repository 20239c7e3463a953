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

// options is the command line, parsed and checked.
type options struct {
	flags *flag.FlagSet

	address     string
	domain      string
	descriptors descriptorsFlag
	traces      string
	tls         tlsOptions

	hits    uint64
	json    bool
	times   int
	timeout time.Duration
}

func parseOptions(env cli.Env) (*options, error) {
	o := &options{flags: flag.NewFlagSet("ratelimit-client", flag.ContinueOnError)}
	o.define(o.flags)
	if err := env.Parse(o.flags); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return o, nil
}

func (o *options) define(f *flag.FlagSet) {
	f.StringVar(&o.address, "dial_string", "localhost:8081", "`address` of the rate limit service: host:port, or unix:path")
	f.StringVar(&o.domain, "domain", "", "`name` of the domain whose rules apply")
	f.Var(&o.descriptors, "descriptors", "one descriptor as comma-separated `name=value` pairs; may be given more than once")
	f.StringVar(&o.traces, "oltp-protocol", "", "accepted for compatibility, without effect: `protocol` of trace spans, http or grpc")
	o.tls.flags(f)

	f.Uint64Var(&o.hits, "hits", 1, "how many hits each descriptor counts for; 0 asks without counting")
	f.BoolVar(&o.json, "json", false, "print responses as proto3 JSON, one a line, and nothing else")
	f.IntVar(&o.times, "n", 1, "ask `times` times, and count the answers")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to wait for each answer, sent along as the deadline; 0 waits for ever")
}

// isOurs reports whether a flag is one that only this client has.
func isOurs(name string) bool {
	switch name {
	case "hits", "json", "n", "timeout":
		return true
	}
	return false
}

func (o *options) check() error {
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.flags.NArg() > 0, "unexpected argument %q: descriptors are given with -descriptors", o.flags.Arg(0))
	bad(o.domain == "", "-domain is missing: name the domain whose rules apply")
	bad(len(o.descriptors.list) == 0, "-descriptors is missing: give at least one, such as -descriptors client=alice")
	bad(o.traces != "" && o.traces != "http" && o.traces != "grpc", "-oltp-protocol %q: use http, grpc or leave it out", o.traces)
	bad(o.hits > math.MaxUint32, "-hits %d is too large: the protocol holds up to %d", o.hits, uint32(math.MaxUint32))
	bad(o.times < 1, "-n %d: ask once at least", o.times)
	bad(o.timeout < 0, "-timeout %v: use a positive time, or 0 to wait for ever", o.timeout)
	return errors.Join(append(errs, o.tls.check())...)
}

// request is the question. No hits at all is something that only descriptors can
// say: in the request 0 means that nothing is said, and 1 counts.
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
