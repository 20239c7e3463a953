package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// report is the output of a single run. The JSON names are part of the interface;
// times are in microseconds, except Seconds.
type report struct {
	Target         string            `json:"target"`
	Connections    int               `json:"connections"`
	Concurrency    int               `json:"concurrency"`
	Seconds        float64           `json:"seconds"`
	Interrupted    bool              `json:"interrupted"`
	Calls          uint64            `json:"calls"` // completed ones
	CallsPerSecond float64           `json:"calls_per_second"`
	OK             uint64            `json:"ok"`
	OverLimit      uint64            `json:"over_limit"`
	Unknown        uint64            `json:"unknown"`
	Errors         map[string]uint64 `json:"errors"`
	Unfinished     uint64            `json:"unfinished"`
	Latency        percentiles       `json:"latency_us"`
	Schedule       *schedule         `json:"schedule,omitempty"`
	CPU            []processCPU      `json:"cpu,omitempty"`
	Generator      float64           `json:"generator_cpu_us_per_call,omitempty"`
}

// percentiles of a histogram, in microseconds.
type percentiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// schedule describes the delays of an open loop.
type schedule struct {
	Rate   float64     `json:"rate"`
	Missed uint64      `json:"missed"`
	Delay  percentiles `json:"delay_us"`
}

type processCPU struct {
	PID     int     `json:"pid"`
	PerCall float64 `json:"us_per_call"`
}

func newReport(s *settings, t *target, m *measurement) *report {
	r := &report{
		Target: t.addr, Connections: s.connections, Concurrency: s.concurrency,
		Seconds: rounded(m.elapsed.Seconds()), Interrupted: m.interrupted,
		Calls: m.completed(), CallsPerSecond: rounded(m.perSecond()),
		OK: m.ok, OverLimit: m.overLimit, Unknown: m.unknown,
		Errors: make(map[string]uint64), Unfinished: m.unfinished,
		Latency: newPercentiles(&m.latency), Generator: rounded(m.perCall(m.generator)),
	}
	for code, n := range m.errors {
		r.Errors[code.String()] = n
	}
	for i, d := range m.cpu {
		r.CPU = append(r.CPU, processCPU{PID: t.pids[i], PerCall: rounded(m.perCall(d))})
	}
	if s.rate > 0 {
		r.Schedule = &schedule{Rate: s.rate, Missed: m.missed, Delay: newPercentiles(&m.delay)}
	}
	return r
}

func newPercentiles(h *stats.Histogram) percentiles {
	at := func(q float64) float64 { return rounded(micros(h.Quantile(q))) }
	return percentiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: rounded(micros(h.Max()))}
}

// rounded keeps three decimals, more than any figure here is worth.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// write prints the report as text, or as one JSON object on a line.
func (r *report) write(w io.Writer, format string) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(r)
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "target\t%s, %d connections, %d in flight, %s\n", r.Target, r.Connections, r.Concurrency, r.loop())
	fmt.Fprintf(tab, "calls\t%d in %.3f s, %.0f a second%s\n", r.Calls, r.Seconds, r.CallsPerSecond, r.ending())
	fmt.Fprintf(tab, "responses\tOK %d, OVER_LIMIT %d, UNKNOWN %d\n", r.OK, r.OverLimit, r.Unknown)
	fmt.Fprintf(tab, "errors\t%s\n", r.failures())
	fmt.Fprintf(tab, "latency\t%s\n", r.Latency)
	if r.Schedule != nil {
		fmt.Fprintf(tab, "sent late by\t%s\n", r.Schedule.Delay)
		fmt.Fprintf(tab, "missed\t%d\n", r.Schedule.Missed)
	}
	for _, p := range r.CPU {
		fmt.Fprintf(tab, "cpu\t%.2f us a call, process %d\n", p.PerCall, p.PID)
	}
	if r.Generator > 0 {
		fmt.Fprintf(tab, "cpu\t%.2f us a call, the generator\n", r.Generator)
	}
	return tab.Flush()
}

func (r *report) loop() string {
	if r.Schedule == nil {
		return "closed loop"
	}
	return fmt.Sprintf("open loop at %v a second", r.Schedule.Rate)
}

func (r *report) ending() string {
	if r.Interrupted {
		return ", interrupted"
	}
	return ""
}

// failures lists the errors by status code, in the order of their names.
func (r *report) failures() string {
	var list []string
	for _, code := range slices.Sorted(maps.Keys(r.Errors)) {
		list = append(list, fmt.Sprintf("%s %d", code, r.Errors[code]))
	}
	if r.Unfinished > 0 {
		list = append(list, fmt.Sprintf("unfinished %d", r.Unfinished))
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// String is the line of a text report, in milliseconds.
func (p percentiles) String() string {
	return fmt.Sprintf("p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms",
		p.P50/1000, p.P90/1000, p.P99/1000, p.P999/1000, p.Max/1000)
}

// compareReport is the output of a comparison.
type compareReport struct {
	Rounds      int            `json:"rounds"`
	Interrupted bool           `json:"interrupted"`
	Targets     []targetReport `json:"targets"`
}

// targetReport holds the medians of a target and its ratios to the first target.
type targetReport struct {
	Name   string        `json:"name"`
	Addr   string        `json:"addr"`
	PIDs   []int         `json:"pids,omitempty"`
	Failed uint64        `json:"failed"`
	Median figuresReport `json:"median"`
	Ratio  figuresReport `json:"ratio"`
}

// A figuresReport is a set of figures for print. CPU is missing where no process is
// named for the target or, in a ratio, for the first one.
type figuresReport struct {
	CallsPerSecond float64  `json:"calls_per_second"`
	CPU            *float64 `json:"cpu_us_per_call,omitempty"`
	P50            float64  `json:"p50_us"`
	P99            float64  `json:"p99_us"`
}

func newFiguresReport(f figures) figuresReport {
	c := figuresReport{
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
		r.Targets = append(r.Targets, targetReport{
			Name: t.name, Addr: t.addr, PIDs: t.pids, Failed: c.failed[i],
			Median: newFiguresReport(absolute), Ratio: newFiguresReport(ratio),
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
