package main

// report is the output for a single target. Latencies are in microseconds.
type report struct {
	Seconds     float64           `json:"seconds"`
	Interrupted bool              `json:"interrupted"`
	Calls       uint64            `json:"calls"` // completed ones
	OK          uint64            `json:"ok"`
	OverLimit   uint64            `json:"over_limit"`
	Unknown     uint64            `json:"unknown"`
	Errors      map[string]uint64 `json:"errors"`
	Unfinished  uint64            `json:"unfinished"`
	P50         float64           `json:"p50_us"`
	P99         float64           `json:"p99_us"`
	Max         float64           `json:"max_us"`
}

func newReport(o *outcome) *report {
	r := &report{
		Seconds: o.elapsed.Seconds(), Interrupted: o.interrupted,
		Calls: o.completed(), OK: o.ok, OverLimit: o.overLimit, Unknown: o.unknown,
		Errors: make(map[string]uint64), Unfinished: o.unfinished,
		P50: micros(o.latency.Quantile(0.5)), P99: micros(o.latency.Quantile(0.99)), Max: micros(o.latency.Max()),
	}
	for code, n := range o.errors {
		r.Errors[code.String()] = n
	}
	return r
}
