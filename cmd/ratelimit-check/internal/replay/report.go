package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Report is the result of a replay. Times are in UTC.
type Report struct {
	Format Format `json:"format"`
	Domain string `json:"domain"`
	// Descriptors shows those that lines were turned into: key=<field>.
	Descriptors []string `json:"descriptors"`
	// KeysWithoutField are keys of rules for which the default mapping has no field.
	KeysWithoutField []string `json:"keys_without_field,omitempty"`
	// DescriptorsWithoutLine are those of Descriptors that no line has all fields for, or whose condition
	// holds for none, so that their rules decided nothing. Fields has the names that the first lines have, if there is one.
	DescriptorsWithoutLine []string `json:"descriptors_without_line,omitempty"`
	Fields                 []string `json:"fields,omitempty"`

	// Lines counts all but blank lines; Unreadable those of them that can't be read, of which
	// BadLines has the first; Skipped those for which the mapping has no descriptor.
	Lines      uint64    `json:"lines"`
	Unreadable uint64    `json:"unreadable"`
	BadLines   []BadLine `json:"bad_lines,omitempty"`
	Skipped    uint64    `json:"skipped"`
	// Requests counts the other lines, and OutOfOrder those that are older than one before them.
	Requests   uint64    `json:"requests"`
	OutOfOrder uint64    `json:"out_of_order"`
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`

	Result Result `json:"result"`
	// Against and Difference are those of a comparison.
	Against    *Result     `json:"against,omitempty"`
	Difference *Difference `json:"difference,omitempty"`
}

// BadLine is a line that can't be read.
type BadLine struct {
	Line   uint64 `json:"line"` // from 1
	Reason string `json:"reason"`
}

// Result has the decisions of one configuration.
type Result struct {
	Refused uint64 `json:"refused"`
	// Unlimited counts the requests that no rule with a limit applies to.
	Unlimited uint64 `json:"unlimited"`
	// Rules are those with a limit, the most requests over it first.
	Rules []Rule `json:"rules"`

	// CountersDropped is not 0 if MaxCounters were not enough: then requests over a limit, and
	// the smallest limits, may be more than reported.
	CountersDropped uint64 `json:"counters_dropped,omitempty"`
	// KeysForgotten is not 0 if MaxKeys were not enough: then a key or client may have up to
	// KeysMissing more requests over the limit than reported. Rules are exact all the same.
	KeysForgotten uint64 `json:"keys_forgotten,omitempty"`
	KeysMissing   uint64 `json:"keys_missing,omitempty"`
}

// Rule is a rule with a limit.
type Rule struct {
	// Name shows the keys and values that lead to the rule, separated by " > ".
	Name       string `json:"name"`
	Limit      uint32 `json:"requests_per_unit"`
	Unit       string `json:"unit,omitempty"` // such as minute or 15 minutes; empty if Unlimited
	Unlimited  bool   `json:"unlimited,omitempty"`
	Algorithm  string `json:"algorithm,omitempty"` // another than fixed_window
	Burst      uint32 `json:"burst,omitempty"`     // of a token_bucket
	ShadowMode bool   `json:"shadow_mode,omitempty"`
	QuotaMode  bool   `json:"quota_mode,omitempty"`

	// Requests counts those that were held to the limit. Those over it are refused unless the rule
	// is in shadow or quota mode.
	Requests uint64 `json:"requests"`
	Excess
	// SmallestLimit is the smallest limit that would have refused none: the most hits that any
	// key has in one window, which are those of PeakKey in the window from PeakWindow. It is 0
	// without requests, and for another algorithm than fixed_window, for which it is not known.
	SmallestLimit uint64    `json:"smallest_limit"`
	PeakKey       string    `json:"peak_key,omitempty"`
	PeakWindow    time.Time `json:"peak_window,omitzero"`

	Keys    []Key `json:"keys,omitempty"`    // the worst first
	Clients []Key `json:"clients,omitempty"` // that were over the limit, the worst first
}

// Key is one counter of a rule, or one client.
type Key struct {
	Name     string `json:"name"`
	Requests uint64 `json:"requests,omitempty"` // 0 for clients
	Excess
	// SmallestLimit is that of the key alone; 0 for clients.
	SmallestLimit uint64 `json:"smallest_limit,omitempty"`
}

// Excess counts requests over a limit. The times are those of the first and the last of them.
type Excess struct {
	OverLimit uint64    `json:"over_limit"`
	FirstOver time.Time `json:"first_over,omitzero"`
	LastOver  time.Time `json:"last_over,omitzero"`
}

func (e *Excess) add(at time.Time) {
	if e.OverLimit++; e.OverLimit == 1 || at.Before(e.FirstOver) {
		e.FirstOver = at
	}
	if at.After(e.LastOver) {
		e.LastOver = at
	}
}

// Difference compares the requests that two configurations refuse.
type Difference struct {
	Both        uint64 `json:"both"`
	OnlyResult  uint64 `json:"only_result"`  // refused by the configuration, not by Against
	OnlyAgainst uint64 `json:"only_against"` // no longer refused
}

func (s *replayer) result(top int) Result {
	r := Result{
		Refused: s.refusals, Unlimited: s.unlimited, CountersDropped: s.counters.dropped,
		KeysForgotten: s.keys.forgotten + s.clients.forgotten, KeysMissing: max(s.keys.missing, s.clients.missing),
	}
	keys, clients := s.keys.top(top), s.clients.top(top)
	for i, t := range s.rules {
		t.Keys, t.Clients = keys[i], clients[i]
		r.Rules = append(r.Rules, *t)
	}
	slices.SortStableFunc(r.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.OverLimit, a.OverLimit), cmp.Compare(b.Requests, a.Requests))
	})
	return r
}

// newRule returns the rule of a limit, without requests.
func newRule(v *ratelimit.LimitView) Rule {
	r := Rule{
		Name: pathText(v.Path), Limit: v.Limit.RequestsPerUnit, Unlimited: v.Limit.Unlimited, ShadowMode: v.ShadowMode, QuotaMode: v.QuotaMode,
	}
	if r.Unlimited {
		return r
	}
	r.Unit = v.Limit.Unit.Text(v.Limit.UnitMultiplier)
	if v.Limit.Algorithm.NeedsChargeStore() {
		r.Algorithm = v.Limit.Algorithm.String()
	}
	if v.Limit.Algorithm.HasBursts() {
		r.Burst = cmp.Or(v.Limit.Burst, v.Limit.RequestsPerUnit)
	}
	return r
}

func pathText(path []ratelimit.Entry) string {
	return printable.Join(path, " > ", func(e ratelimit.Entry) string {
		if e.Value == "" {
			return e.Key
		}
		return e.Key + "=" + e.Value
	})
}
