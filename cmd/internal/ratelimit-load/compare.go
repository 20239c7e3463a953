package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// The compared figures of one target in one round.
const (
	callsPerSecond = iota
	cpuMicros      // of all processes of the target; NaN without processes
	p50Micros
	p99Micros
	figureCount
)

type figures [figureCount]float64

func newFigures(m *outcome, t *target) figures {
	f := figures{
		callsPerSecond: float64(m.completed()) / m.elapsed.Seconds(),
		cpuMicros:      micros(m.cpu) / float64(m.completed()),
		p50Micros:      micros(m.latency.Quantile(0.5)),
		p99Micros:      micros(m.latency.Quantile(0.99)),
	}
	if len(t.pids) == 0 {
		f[cpuMicros] = math.NaN()
	}
	return f
}

// round holds the figures of all targets, in the order of the command line.
type round []figures

// comparison loads its targets in turn, round after round. Ratios are computed within a round,
// where the machine is in the same state, before the median of the rounds is taken.
type comparison struct {
	targets []*target
	load    *load
	rounds  []round
	failed  []uint64 // calls of each target without a decision, in all rounds
}

// run connects, warms up and measures until the rounds are complete or ctx ends. An incomplete
// round is dropped.
func (c *comparison) run(ctx context.Context) error {
	c.failed = make([]uint64, len(c.targets))
	for _, t := range c.targets {
		defer t.close()
		if err := t.connect(ctx, c.load.connections, c.load.requests[0]); err != nil {
			return fmt.Errorf("target %q: %w", t.name, err)
		}
		c.load.drive(ctx, t, c.load.warmup)
	}
	for len(c.rounds) < c.load.rounds && ctx.Err() == nil {
		r, err := c.round(ctx)
		if err != nil {
			return fmt.Errorf("round %d: %w", len(c.rounds)+1, err)
		}
		if ctx.Err() == nil {
			c.rounds = append(c.rounds, r)
		}
	}
	return nil
}

// round measures every target once, in alternating order, so that a machine that becomes slower
// does not always affect the same target.
func (c *comparison) round(ctx context.Context) (round, error) {
	r := make(round, len(c.targets))
	for _, i := range turns(len(c.rounds), len(c.targets)) {
		t := c.targets[i]
		m, err := c.load.measure(ctx, t, c.load.duration)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", t.name, err)
		}
		if m.completed() == 0 && !m.interrupted {
			return nil, fmt.Errorf("target %q: no call was completed, %d failed: check that the service is running", t.name, m.sent())
		}
		c.failed[i] += m.failed() + m.unfinished
		r[i] = newFigures(m, t)
	}
	return r, nil
}

// turns returns the order in which a round measures its targets.
func turns(round, targets int) []int {
	order := make([]int, targets)
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// medians returns the median of each figure of a target over the rounds, and of
// its ratio to the first target in the same round.
func (c *comparison) medians(target int) (absolute, ratio figures) {
	for i := range figureCount {
		var values, ratios []float64
		for _, r := range c.rounds {
			values = append(values, r[target][i])
			ratios = append(ratios, r[target][i]/r[0][i])
		}
		absolute[i], ratio[i] = median(values), median(ratios)
	}
	return absolute, ratio
}

// median sorts its values and returns their median, NaN for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// write prints the medians of the targets and of their ratios to the first target as a table. It needs a complete
// round.
func (c *comparison) write(w io.Writer) error {
	ending := ""
	if len(c.rounds) < c.load.rounds {
		ending = ", interrupted"
	}
	fmt.Fprintf(w, "medians of %d rounds%s; ratios to %s\n", len(c.rounds), ending, c.targets[0].name)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "target\tcalls/s\tratio\tcpu us/call\tratio\tp50 ms\tratio\tp99 ms\tratio\tfailed\t\n")
	for i, t := range c.targets {
		m, ratio := c.medians(i)
		fmt.Fprintf(tab, "%s\t%.0f\t%.3f\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t\n", t.name,
			m[callsPerSecond], ratio[callsPerSecond], decimals(m[cpuMicros], 2), decimals(ratio[cpuMicros], 3),
			m[p50Micros]/1000, ratio[p50Micros], m[p99Micros]/1000, ratio[p99Micros], c.failed[i])
	}
	return tab.Flush()
}

// decimals formats a figure that may be missing.
func decimals(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%.*f", n, v)
}
