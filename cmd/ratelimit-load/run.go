package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// procRoot is the mount point of the proc file system on Linux.
const procRoot = "/proc"

// gcPercent lets the small heap of the generator grow, which would be collected many times a second
// with the default of 100.
const gcPercent = 800

func run(ctx context.Context, env cli.Env) error {
	s, err := parseSettings(env)
	if err != nil {
		return err
	}
	if s.baseline != "" {
		return serveBaseline(ctx, s.baseline, env.Stdout) // untuned, like a plain server
	}
	if _, chosen := env.Environ["GOGC"]; !chosen {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	return generate(ctx, s, env)
}

func generate(ctx context.Context, s *settings, env cli.Env) error {
	l, err := newLoad(s, &progress{env: env})
	if err != nil {
		return err
	}
	m, err := newMeter(procRoot, s.watched())
	if err != nil {
		return err
	}
	if len(s.compare) > 0 {
		return compare(ctx, s, l, m, env)
	}
	return single(ctx, s, l, m, env.Stdout)
}

// single measures one target and prints the result, even if a process ended meanwhile.
func single(ctx context.Context, s *settings, l *load, m *meter, stdout io.Writer) error {
	t := &target{addr: s.addr, pids: s.pids}
	defer t.close()
	if err := t.connect(ctx, s.connections, l.requests.get(0)); err != nil {
		return err
	}
	l.progress.phase = "warming up"
	l.drive(ctx, t, s.warmup)
	l.progress.warnWithoutLimit(s, t)
	l.progress.phase = "measuring"
	result, err := m.measure(ctx, l, t, s.duration)
	if result == nil {
		return err
	}
	if result.completed() == 0 && !result.interrupted {
		err = errors.Join(err, fmt.Errorf("none of %d calls to %s was completed", result.sent(), t.addr))
	}
	return errors.Join(newReport(s, t, result).write(stdout, s.format), err)
}

func compare(ctx context.Context, s *settings, l *load, m *meter, env cli.Env) error {
	c := &comparison{targets: s.compare, load: l, meter: m}
	err := c.run(ctx, s)
	if len(c.rounds) == 0 {
		if err == nil {
			fmt.Fprintln(env.Stderr, "interrupted before the first round was complete: nothing to compare")
		}
		return err
	}
	return errors.Join(c.report(s.rounds).write(env.Stdout, s.format), err)
}

// settings is the parsed and checked command line.
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

	pids     []int
	format   string
	baseline string
	compare  []*target
	rounds   int
}

// parseSettings reads the command line. All errors are reported at once, as a usage error.
func parseSettings(env cli.Env) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("ratelimit-load", flag.ContinueOnError)
	s.defineTarget(flags)
	s.defineRequests(flags)
	s.defineOutput(flags)
	help := &cli.Help{
		About: "ratelimit-load sends requests to a v3 rate limit service and reports rates, latencies and the CPU that the service uses.",
		Usage: []string{"ratelimit-load [flags]"},
		Examples: [][2]string{
			{"ratelimit-load -addr localhost:8081 -domain demo -duration 10s", "as many calls as 64 in flight allow"},
			{"ratelimit-load -addr localhost:8081 -domain demo -rate 5000", "5,000 calls a second, for latencies under a steady load"},
		},
	}
	help.Define(flags)
	if err := env.Parse(flags); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, cli.Usagef("unexpected argument %q: use flags, see -help", flags.Arg(0))
	}
	if err := errors.Join(s.checkModes(flags), s.checkFormat(), s.checkLoad(), s.checkRequests()); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return s, nil
}

func (s *settings) defineTarget(flags *flag.FlagSet) {
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8081", "load the service at `host:port`")
	flags.IntVar(&s.connections, "connections", 4, "spread the calls over `n` connections")
	flags.IntVar(&s.concurrency, "concurrency", 64, "keep `n` calls in flight; with -rate this is the maximum")
	flags.Float64Var(&s.rate, "rate", 0, "send `n` calls a second by the clock (open loop); 0 sends the next call after a response (closed loop)")
	flags.Uint64Var(&s.calls, "calls", 1_000_000_000, "stop a round after `n` calls")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "measure for `time`; with -compare for each target in each round")
	flags.DurationVar(&s.warmup, "warmup", time.Second, "load each target for `time` before the measuring")
}

func (s *settings) defineRequests(flags *flag.FlagSet) {
	flags.StringVar(&s.domain, "domain", "load", "send requests for this `domain`")
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
	flags.StringVar(&s.baseline, "serve-baseline", "", "serve the baseline, a bare gRPC server, on `host:port` and send no load")
	flags.Func("compare", "load several targets in turn: `name=host:port:pid,...`; the pid may be left out, or be several joined by +", func(list string) (err error) {
		s.compare, err = parseTargets(list)
		return err
	})
	flags.IntVar(&s.rounds, "rounds", 5, "compare in `n` rounds")
}

// watched returns the processes whose CPU time is measured.
func (s *settings) watched() []int {
	pids := slices.Clone(s.pids)
	for _, t := range s.compare {
		pids = append(pids, t.pids...)
	}
	return pids
}

// The maximum values of flags, which bound memory and time.
const (
	maxConnections = 1024
	maxConcurrency = 4096
	maxRate        = 1e6
	maxDuration    = 24 * time.Hour
	maxDescriptors = 100
	maxEncoded     = 10_000_000 // descriptors of all prepared requests
	maxRounds      = 1000
)

// checkModes rejects flags that would be ignored.
func (s *settings) checkModes(flags *flag.FlagSet) error {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case given["serve-baseline"] && len(given) > 1:
		return errors.New("-serve-baseline cannot be combined with other flags")
	case given["compare"] && (given["addr"] || given["pids"]):
		return errors.New("-compare contains addresses and process ids: leave out -addr and -pids")
	case given["rounds"] && !given["compare"]:
		return errors.New("-rounds requires -compare: a single target is measured once")
	}
	return nil
}

func (s *settings) checkLoad() error {
	return errors.Join(
		between("connections", s.connections, 1, maxConnections),
		between("concurrency", s.concurrency, 1, maxConcurrency),
		between("rounds", s.rounds, 1, maxRounds),
		between("calls", s.calls, 1, math.MaxInt64),
		between("duration", s.duration, time.Millisecond, maxDuration),
		between("warmup", s.warmup, 0, maxDuration),
		s.checkAddr(),
		s.checkRate(),
		s.checkConnections(),
	)
}

func (s *settings) checkAddr() error {
	if isAddress(s.addr) {
		return nil
	}
	return fmt.Errorf("-addr %q: use host:port", s.addr)
}

func (s *settings) checkRate() error {
	if s.rate == 0 || s.rate >= 0.001 && s.rate <= maxRate {
		return nil
	}
	return fmt.Errorf("-rate %v: use 0 for the closed loop, or 0.001 to %v calls a second", s.rate, float64(maxRate))
}

func (s *settings) checkConnections() error {
	if s.connections <= s.concurrency {
		return nil
	}
	return fmt.Errorf("-connections %d with -concurrency %d: use at least as many calls as connections", s.connections, s.concurrency)
}

func (s *settings) checkRequests() error {
	return errors.Join(
		filled("domain", s.domain),
		filled("entry", s.entry),
		between("keys", s.keys, 1, maxEncoded),
		between("descriptors", s.descriptors, 1, maxDescriptors),
		between("hits", s.hits, 0, math.MaxUint32),
		s.checkEncoded(),
		checkDistribution(s.distribution),
	)
}

func (s *settings) checkEncoded() error {
	if s.descriptors > maxDescriptors || s.keys <= maxEncoded/max(s.descriptors, 1) {
		return nil
	}
	return fmt.Errorf("-keys %d with -descriptors %d: use at most %d descriptors in all requests together", s.keys, s.descriptors, maxEncoded)
}

func (s *settings) checkFormat() error {
	if s.format == "text" || s.format == "json" {
		return nil
	}
	return fmt.Errorf("-format %q: use text or json", s.format)
}

// between checks that a flag's value is from low to high.
func between[T int | uint | uint64 | time.Duration](name string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("-%s %v: use %v to %v", name, v, low, high)
	}
	return nil
}

func filled(name, v string) error {
	if v == "" || !utf8.ValidString(v) {
		return fmt.Errorf("-%s %q: use a non-empty UTF-8 string", name, v)
	}
	return nil
}
