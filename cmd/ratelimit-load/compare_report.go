package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// A compareReport is what a comparison prints.
type compareReport struct {
	Rounds      int        `json:"rounds"`
	Interrupted bool       `json:"interrupted"`
	Targets     []standing `json:"targets"`
}

// A standing is one target's medians, and its ratios to the first target.
type standing struct {
	Name   string    `json:"name"`
	Addr   string    `json:"addr"`
	PIDs   []int     `json:"pids,omitempty"`
	Failed uint64    `json:"failed"`
	Median comparand `json:"median"`
	Ratio  comparand `json:"ratio"`
}

// A comparand is a set of figures for print. CPU is missing where no process is
// named for the target or, in a ratio, for the first one.
type comparand struct {
	CallsPerSecond float64  `json:"calls_per_second"`
	CPU            *float64 `json:"cpu_us_per_call,omitempty"`
	P50            float64  `json:"p50_us"`
	P99            float64  `json:"p99_us"`
}

func newComparand(f figures) comparand {
	c := comparand{
		CallsPerSecond: rounded(f[callsPerSecond]),
		P50:            rounded(f[p50Micros]),
		P99:            rounded(f[p99Micros]),
	}
	if cpu := rounded(f[cpuMicros]); !math.IsNaN(cpu) && !math.IsInf(cpu, 0) {
		c.CPU = &cpu
	}
	return c
}

// report needs at least one complete round.
func (c *comparison) report(rounds int) *compareReport {
	r := &compareReport{Rounds: len(c.rounds), Interrupted: len(c.rounds) < rounds}
	for i, t := range c.targets {
		absolute, ratio := c.medians(i)
		r.Targets = append(r.Targets, standing{
			Name: t.name, Addr: t.addr, PIDs: t.pids, Failed: c.failed[i],
			Median: newComparand(absolute), Ratio: newComparand(ratio),
		})
	}
	return r
}

// write prints the report as a table, or as one JSON object on a line.
func (r *compareReport) write(w io.Writer, format string) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "medians of %d rounds%s; ratios to %s\n", r.Rounds, r.ending(), r.Targets[0].Name)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "target\tcalls/s\tratio\tcpu us/call\tratio\tp50 ms\tratio\tp99 ms\tratio\tfailed\t\n")
	for _, t := range r.Targets {
		fmt.Fprintf(tab, "%s\t%.0f\t%.3f\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t\n", t.Name,
			t.Median.CallsPerSecond, t.Ratio.CallsPerSecond,
			decimals(t.Median.CPU, 2), decimals(t.Ratio.CPU, 3),
			t.Median.P50/1000, t.Ratio.P50, t.Median.P99/1000, t.Ratio.P99, t.Failed)
	}
	return tab.Flush()
}

func (r *compareReport) ending() string {
	if r.Interrupted {
		return ", interrupted"
	}
	return ""
}

// decimals formats a figure that may be missing.
func decimals(v *float64, n int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", n, *v)
}
