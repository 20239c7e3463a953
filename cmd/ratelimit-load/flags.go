package main

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// settings is the command line, parsed and checked.
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
	seed         uint64
	descriptors  int
	entry        string
	hits         uint

	pids    []int
	format  string
	floor   string
	compare []*target
	rounds  int
}

// parseSettings reads the command line. What is wrong with it, all of it at once,
// is a usage error.
func parseSettings(env cli.Env) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("ratelimit-load", flag.ContinueOnError)
	s.defineTarget(flags)
	s.defineRequests(flags)
	s.defineOutput(flags)
	if err := env.Parse(flags); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, cli.Usagef("unexpected argument %q; everything is said with flags, see -help", flags.Arg(0))
	}
	if err := errors.Join(s.checkModes(flags), s.checkFormat(), s.checkLoad(), s.checkRequests()); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return s, nil
}

func (s *settings) defineTarget(flags *flag.FlagSet) {
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8081", "load the service at `host:port`")
	flags.IntVar(&s.connections, "connections", 4, "spread the calls over `n` connections")
	flags.IntVar(&s.concurrency, "concurrency", 64, "have `n` calls in flight in all; with -rate at most so many")
	flags.Float64Var(&s.rate, "rate", 0, "send `n` calls a second by the clock (open loop); 0 sends the next when one is answered (closed loop)")
	flags.Uint64Var(&s.calls, "calls", 1_000_000_000, "stop a round after `n` calls")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "measure for `time`; with -compare for each target in each round")
	flags.DurationVar(&s.warmup, "warmup", time.Second, "load each target for `time` before the measuring")
}

func (s *settings) defineRequests(flags *flag.FlagSet) {
	flags.StringVar(&s.domain, "domain", "load", "ask for limits of this `domain`")
	flags.IntVar(&s.keys, "keys", 1000, "use `n` different values")
	flags.StringVar(&s.distribution, "distribution", "uniform", "choose values by `name`: "+strings.Join(distributions(), ", ")+" (hot is one value for all calls)")
	flags.Uint64Var(&s.seed, "seed", 1, "`number` that decides the choices of uniform and zipf")
	flags.IntVar(&s.descriptors, "descriptors", 1, "put `n` descriptors in each request")
	flags.StringVar(&s.entry, "entry", "key", "`name` of the entry in each descriptor")
	flags.UintVar(&s.hits, "hits", 1, "count `n` hits with each request (hits_addend); 0 leaves it out")
}

func (s *settings) defineOutput(flags *flag.FlagSet) {
	flags.Func("pids", "report the CPU per call of the processes `id,id,...`", func(list string) (err error) {
		s.pids, err = parsePIDs(list, ",")
		return err
	})
	flags.StringVar(&s.format, "format", "text", "report as `form`: text or json")
	flags.StringVar(&s.floor, "serve-floor", "", "put no load on anything but be the floor: a bare gRPC server on `host:port`")
	flags.Func("compare", "load several targets in turn: `name=host:port:pid,...`; the pid may be left out, or be several joined by +", func(list string) (err error) {
		s.compare, err = parseTargets(list)
		return err
	})
	flags.IntVar(&s.rounds, "rounds", 5, "compare in `n` rounds")
}

// watched lists the processes whose CPU time is asked for.
func (s *settings) watched() []int {
	pids := slices.Clone(s.pids)
	for _, t := range s.compare {
		pids = append(pids, t.pids...)
	}
	return pids
}
