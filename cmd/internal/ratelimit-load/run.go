package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// gcPercent lets the small heap of the generator grow, which would be collected many times a second
// with the default of 100.
const gcPercent = 800

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "ratelimit-load [flags]", Args: cli.Args(0, 0, "no arguments"),
		Long: "ratelimit-load sends requests to v3 rate limit services and reports rates, latencies and the CPU that the services use.",
		Example: `  ratelimit-load -addr localhost:8081 -domain demo -duration 10s
    	as many calls as 64 in flight allow, reported as JSON
  ratelimit-load -compare base=127.0.0.1:9001:4242,ours=127.0.0.1:8081:4711 -domain demo
    	CPU per call of two services with these process ids, as a table`,
	}
	s := &settings{}
	s.define(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.baseline != "" {
			return serveBaseline(c.Context(), s.baseline, env.Stdout) // untuned, like a plain server
		}
		if err := s.check(); err != nil {
			return &cli.UsageError{Err: err}
		}
		if _, chosen := env.Environ["GOGC"]; !chosen {
			defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
		}
		encoded, err := encodeRequests(s)
		l := &load{s, encoded}
		switch {
		case err != nil:
			return err
		case len(s.compare) > 0:
			return compare(c.Context(), l, env)
		}
		return single(c.Context(), l, env.Stdout)
	}
	return env.Execute(ctx, c)
}

// single measures one target and prints the result.
func single(ctx context.Context, l *load, stdout io.Writer) error {
	t := &target{addr: l.addr}
	defer t.close()
	if err := t.connect(ctx, l.connections, l.requests[0]); err != nil {
		return err
	}
	l.drive(ctx, t, l.warmup)
	result := l.drive(ctx, t, l.duration)
	var err error
	if result.completed() == 0 && !result.interrupted {
		err = fmt.Errorf("none of %d calls to %s was completed", result.sent(), t.addr)
	}
	return errors.Join(json.NewEncoder(stdout).Encode(newReport(result)), err)
}

func compare(ctx context.Context, l *load, env cli.Env) error {
	c := &comparison{targets: l.compare, load: l}
	err := c.run(ctx)
	if len(c.rounds) == 0 {
		if err == nil {
			fmt.Fprintln(env.Stderr, "interrupted before the first round was complete: nothing to compare")
		}
		return err
	}
	return errors.Join(c.write(env.Stdout), err)
}

// settings is the parsed command line.
type settings struct {
	addr        string
	connections int
	concurrency int
	rate        float64
	calls       uint64
	duration    time.Duration
	warmup      time.Duration

	domain       string
	keys         int
	distribution string
	descriptors  int
	entry        string

	baseline string
	compare  []*target
	rounds   int
}

func (s *settings) define(flags *pflag.FlagSet) {
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8081", "load the service at `host:port`")
	flags.IntVar(&s.connections, "connections", 4, "spread the calls over `n` connections")
	flags.IntVar(&s.concurrency, "concurrency", 64, "keep `n` calls in flight; with -rate this is the maximum")
	flags.Float64Var(&s.rate, "rate", 0, "send `n` calls a second by the clock (open loop); 0 sends the next call after a response (closed loop)")
	flags.Uint64Var(&s.calls, "calls", 1_000_000_000, "stop a round after `n` calls")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "measure for `time`; with -compare for each target in each round")
	flags.DurationVar(&s.warmup, "warmup", time.Second, "load each target for `time` before the measuring")
	flags.StringVar(&s.domain, "domain", "load", "send requests for this `domain`")
	flags.IntVar(&s.keys, "keys", 1000, "use `n` different values")
	flags.StringVar(&s.distribution, "distribution", "uniform", "choose values by `name`: uniform, sequence, or hot, which is one value for all calls")
	flags.IntVar(&s.descriptors, "descriptors", 1, "put `n` descriptors in each request")
	flags.StringVar(&s.entry, "entry", "key", "`name` of the entry in each descriptor")
	flags.StringVar(&s.baseline, "serve-baseline", "", "serve the baseline, a bare gRPC server, on `host:port` and send no load")
	flags.Func("compare", "load several targets in turn: `name=host:port:pid,...`; the pid may be left out, or be several joined by +", func(list string) (err error) {
		s.compare, err = parseTargets(list)
		return err
	})
	flags.IntVar(&s.rounds, "rounds", 5, "compare in `n` rounds")
}

func (s *settings) check() error {
	if min(s.connections, s.concurrency, s.keys, s.descriptors, s.rounds) < 1 || s.rate < 0 || s.duration <= 0 || s.warmup < 0 {
		return errors.New("a number is too small: use at least 1, or 0 for -rate and -warmup")
	}
	if s.connections > s.concurrency {
		return fmt.Errorf("-connections %d with -concurrency %d: use at least as many calls as connections", s.connections, s.concurrency)
	}
	if s.distribution != "uniform" && s.distribution != "sequence" && s.distribution != "hot" {
		return fmt.Errorf("-distribution %q: use uniform, sequence or hot", s.distribution)
	}
	return nil
}
