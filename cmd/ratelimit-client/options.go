package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// options contains the validated flags.
type options struct {
	address     string
	domain      string
	descriptors descriptors
	traceProto  string
	useTLS      bool
	tls         tlsfiles.ClientFiles
	counters    countersOptions

	hits    uint64
	quota   bool
	json    bool
	fail    bool
	color   cli.Color
	repeat  int
	timeout time.Duration
}

// define defines the flags.
func (o *options) define(f *pflag.FlagSet) {
	f.StringVar(&o.address, "dial_string", "localhost:8081", "`address` of the rate limit service: host:port, or unix:path")
	f.StringVar(&o.domain, "domain", "", "`name` of the rate limit domain")
	f.Func("descriptors", "one descriptor as comma-separated `name=value` pairs; repeatable", o.descriptors.add)
	f.StringVar(&o.traceProto, "oltp-protocol", "", "accepted for compatibility, no effect: `protocol` of the trace exporter, http or grpc")
	f.BoolVar(&o.useTLS, "grpc-use-tls", false, "connect with TLS")
	f.StringVar(&o.tls.CACert, "grpc-server-ca-file", "", "`file` with CA certificates for the server, besides those of the system")
	f.StringVar(&o.tls.Cert, "grpc-cert-file", "", "`file` with the client certificate, for mutual TLS")
	f.StringVar(&o.tls.Key, "grpc-key-file", "", "`file` with the key of the client certificate")

	f.BoolVar(&o.counters.get, "get", false, "print the counters of the descriptors; needs the admin token")
	f.BoolVar(&o.counters.reset, "reset", false, "set the counters of the descriptors to zero; needs the admin token")
	f.Uint64Var(&o.counters.giveBack, "give-back", 0, "give back `count` hits of each descriptor; needs the admin token")
	f.StringVar(&o.counters.tokenFile, "token-file", "", "`file` of the admin token of the service; default: that of ADMIN_TOKEN_FILE, or the value of ADMIN_TOKEN")

	f.BoolVar(&o.quota, "quota", false, "report a bucket for each descriptor every five seconds, with -hits refused requests, and print quotas as they come, with -n so many messages; needs QUOTA_ENABLED")
	f.Uint64Var(&o.hits, "hits", 1, "number of hits to add for each descriptor; 0 reads the counters without incrementing them")
	f.BoolVar(&o.json, "json", false, "print only the responses, as proto3 JSON, one per line")
	f.BoolVar(&o.fail, "fail", false, "exit with 1 if a request is refused")
	o.color.Define(f)
	f.IntVarP(&o.repeat, "n", "n", 1, "send the request `count` times and print a summary")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "timeout of each request, also sent as its deadline; 0 means no timeout")
}

func (o *options) validate() error {
	var errs []error
	bad := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.domain == "", "-domain is missing: set it to the name of a rate limit domain")
	bad(len(o.descriptors) == 0, "-descriptors is missing: specify at least one, such as -descriptors client=alice")
	bad(o.traceProto != "" && o.traceProto != "http" && o.traceProto != "grpc", "unknown -oltp-protocol %q: use http or grpc, or omit the flag", o.traceProto)
	bad(o.hits > math.MaxUint32, "-hits %d is too large: the maximum is %d", o.hits, uint32(math.MaxUint32))
	bad(o.repeat < 1, "invalid -n %d: use at least 1", o.repeat)
	bad(o.timeout < 0, "negative -timeout %v: use a positive duration, or 0 for no timeout", o.timeout)
	bad(!o.useTLS && o.tls != tlsfiles.ClientFiles{}, "certificate files need -grpc-use-tls")
	bad(o.quota && (o.fail || o.counters.get || o.counters.reset || o.counters.giveBack > 0), "-quota does not take -fail, -get, -reset and -give-back")
	bad((o.tls.Cert == "") != (o.tls.Key == ""), "-grpc-cert-file and -grpc-key-file must be set together")
	return errors.Join(errs...)
}

// request returns the request to send. To add no hits, it sets the hits of every descriptor
// to 0: in the request itself, 0 means unset and counts as 1.
func (o *options) request() *ratelimitv3.RateLimitRequest {
	if o.hits == 0 {
		for _, d := range o.descriptors {
			d.HitsAddend = wrapperspb.UInt64(0)
		}
	}
	return &ratelimitv3.RateLimitRequest{Domain: o.domain, HitsAddend: uint32(o.hits), Descriptors: o.descriptors}
}
