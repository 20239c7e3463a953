package modeltest

import (
	"math"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// model is the rate limit service that REFERENCE.md describes, with maps as stores.
type model struct {
	choices  choices
	domains  []ratelimit.Domain
	counters [2]map[string]uint64 // the main and the per-second store
	cached   map[string]int64     // the time until which a counter is cached as over its limit
	stats    map[string]ratelimit.LimitCounts
	notFound map[string]uint64
	shadowed uint64
	states   map[string]ratelimit.State
	lengths  map[string]int64 // of the windows of each counter, for mixesLengths
}

func newModel(c choices) *model {
	return &model{
		choices:  c,
		counters: [2]map[string]uint64{{}, {}},
		cached:   make(map[string]int64),
		stats:    make(map[string]ratelimit.LimitCounts),
		notFound: make(map[string]uint64),
		states:   make(map[string]ratelimit.State),
		lengths:  make(map[string]int64),
	}
}

// mixesLengths reports whether a request would count in a window of one length under
// the key of another's.
func (m *model) mixesLengths(r *ratelimit.Request, now int64) bool {
	for _, t := range m.live(r, now) {
		if length, seen := m.lengths[t.key]; seen && length != t.length {
			return true
		}
		m.lengths[t.key] = t.length
	}
	return false
}

// live returns the limits that count the hits of a request.
func (m *model) live(r *ratelimit.Request, now int64) (targets []*target) {
	rules, known := m.rulesOf(r.Domain)
	for i := range r.Descriptors {
		if t := m.target(r, &r.Descriptors[i], rules, now); known && t != nil && t.live {
			targets = append(targets, t)
		}
	}
	return targets
}

// target is the limit that applies to one descriptor.
type target struct {
	rule     *ratelimit.Rule // nil for an override
	requests uint32
	unit     ratelimit.Unit
	units    uint32         // in a window; 0 is one
	zone     *time.Location // of a calendar, or nil
	length   int64          // of the window, in seconds
	hits     uint64
	back     bool // gives them back
	live     bool // not unlimited

	algorithm ratelimit.Algorithm
	burst     uint32

	key, metric string
	window      int64
	second      bool // in the per-second store
	cached      bool
	after       uint64
	charged     ratelimit.Charge // of another algorithm
}

// outcome is the result of the model.
type outcome struct {
	code     ratelimit.Code
	statuses []ratelimit.Status
	tightest int
	metadata map[string]any
	targets  []*target // nil where no limit applies
}

func (m *model) decide(r *ratelimit.Request, now int64) *outcome {
	o := &outcome{targets: make([]*target, len(r.Descriptors))}
	rules, known := m.rulesOf(r.Domain)
	for i := range r.Descriptors {
		if !known {
			m.notFound[sanitised(r.Domain)]++ // for each descriptor (REFERENCE.md, 2.1)
			continue
		}
		o.targets[i] = m.target(r, &r.Descriptors[i], rules, now)
	}
	dropReplaced(o.targets)
	m.count(o.targets, now)
	for i, t := range o.targets {
		o.statuses = append(o.statuses, m.status(t, now))
		if t == nil && m.choices.Quota {
			o.statuses[i].Quota = true
		}
	}
	m.conclude(o)
	if o.code == ratelimit.OverLimit {
		m.release(o.targets)
	}
	return o
}

// rulesOf joins the rules of the parts of a domain.
func (m *model) rulesOf(domain string) (rules []ratelimit.Rule, known bool) {
	for _, d := range m.domains {
		if d.Name == domain {
			rules, known = append(rules, d.Rules...), true
		}
	}
	return rules, known
}

// target returns the limit of a descriptor, nil for none.
func (m *model) target(r *ratelimit.Request, d *ratelimit.Descriptor, rules []ratelimit.Rule, now int64) *target {
	t := &target{hits: hitsOf(r, d), back: d.Refund, live: true}
	var path []ratelimit.Rule
	if d.Limit != nil {
		t.requests, t.unit, t.units = d.Limit.RequestsPerUnit, d.Limit.Unit, d.Limit.UnitMultiplier
		t.metric = overrideMetric(r.Domain, d.Entries)
	} else {
		path = find(rules, d.Entries)
		if path == nil || path[len(path)-1].Limit == nil {
			return nil
		}
		t.rule = &path[len(path)-1]
		t.requests, t.unit, t.units = t.rule.Limit.RequestsPerUnit, t.rule.Limit.Unit, t.rule.Limit.UnitMultiplier
		t.algorithm, t.burst = t.rule.Limit.Algorithm, t.rule.Limit.Burst
		if t.rule.Limit.Align == ratelimit.AlignCalendar {
			t.zone, _ = time.LoadLocation(t.rule.Limit.TimeZone)
		}
		t.live = !t.rule.Limit.Unlimited
		t.metric = ruleMetric(r.Domain, path, d.Entries)
	}
	if t.live {
		start, end := t.bounds(now)
		t.window, t.length = start, end-start
		ending := strconv.FormatInt(t.window, 10)
		switch {
		case t.charging():
			ending = t.ending()
		case !m.choices.Reference:
			ending += "+" + strconv.FormatInt(t.length, 10)
		}
		t.key = m.choices.Prefix + counterKey(m.choices.Reference, r.Domain, path, d.Entries, ending)
		t.second = m.choices.PerSecond && t.unit == ratelimit.Second && t.units <= 1 && t.zone == nil && !t.charging()
	}
	return t
}

// hitsOf returns the number of hits of a descriptor (REFERENCE.md, 1.2).
func hitsOf(r *ratelimit.Request, d *ratelimit.Descriptor) uint64 {
	if d.HitsAddend != nil {
		return *d.HitsAddend
	}
	return uint64(max(r.HitsAddend, 1))
}

// dropReplaced removes the limits whose names any rule of the request replaces
// (REFERENCE.md, 2.4).
func dropReplaced(targets []*target) {
	replaced := make(map[string]bool)
	for _, t := range targets {
		if t != nil && t.rule != nil {
			for _, name := range t.rule.Limit.Replaces {
				replaced[name] = true
			}
		}
	}
	for i, t := range targets {
		if t != nil && t.rule != nil && t.live && t.rule.Limit.Name != "" && replaced[t.rule.Limit.Name] {
			targets[i] = nil
		}
	}
}

// count adds the hits to the counters (REFERENCE.md, 3.6).
func (m *model) count(targets []*target, now int64) {
	var active []*target
	anyCached, anyOver := false, false
	for _, t := range targets {
		if t == nil || !t.live {
			continue
		}
		switch {
		case !t.back:
			m.addStats(t, ratelimit.LimitCounts{TotalHits: t.hits})
		case !t.charging():
			delete(m.cached, t.key)
		}
		if t.cached = m.choices.Cache && now < m.cached[t.key]; t.cached {
			anyCached = true
			continue
		}
		active = append(active, t)
	}
	over := make([]bool, len(active))
	for i, t := range active {
		switch {
		case t.back:
		case t.charging():
			over[i] = !t.passes(m.states[t.key], t.hits, now)
		default:
			over[i] = m.counter(t)+t.hits > uint64(t.requests)
		}
		anyOver = anyOver || over[i]
	}
	for i, t := range active {
		m.add(t, !m.choices.Stop || !anyCached && (!anyOver || over[i]), now)
	}
}

func (m *model) counter(t *target) uint64 { return m.storeOf(t)[t.key] }

// add counts the hits if counts is set, and gives them back in any case.
func (m *model) add(t *target, counts bool, now int64) {
	n := t.hits
	if !counts && !t.back {
		n = 0
	}
	if t.charging() {
		t.charged = t.charge(n, now)
		t.charged.Refund = t.back
		state := m.states[t.key]
		t.charged.Apply(&state)
		m.states[t.key] = state
		return
	}
	switch count := m.counter(t); {
	case n == 0:
	case t.back && n < count:
		m.storeOf(t)[t.key] = count - n
	case t.back:
		delete(m.storeOf(t), t.key)
	case !t.back:
		m.storeOf(t)[t.key] = count + n
	}
	t.after = m.counter(t)
}

func (m *model) storeOf(t *target) map[string]uint64 {
	if t.second {
		return m.counters[1]
	}
	return m.counters[0]
}

// addStats adds to the statistics of a target.
func (m *model) addStats(t *target, c ratelimit.LimitCounts) {
	s := m.stats[t.metric]
	s.TotalHits += c.TotalHits
	s.WithinLimit += c.WithinLimit
	s.NearLimit += c.NearLimit
	s.OverLimit += c.OverLimit
	s.OverLimitWithLocalCache += c.OverLimitWithLocalCache
	s.ShadowMode += c.ShadowMode
	if s != (ratelimit.LimitCounts{}) {
		m.stats[t.metric] = s
	}
}

// status returns the status of one descriptor (REFERENCE.md, 4.1).
func (m *model) status(t *target, now int64) ratelimit.Status {
	s := ratelimit.Status{Code: ratelimit.OK}
	switch {
	case t == nil:
		return s
	case !t.live:
		s.Remaining = math.MaxUint32
		return s
	}
	s.Limited, s.RequestsPerUnit, s.Unit = true, t.requests, t.unit
	if t.units > 1 {
		s.UnitMultiplier = t.units
	}
	s.ResetSeconds = uint32(t.window + t.length - now)
	s.Quota = m.choices.Quota || t.rule != nil && t.rule.QuotaMode
	if t.rule != nil {
		s.Name = t.rule.Limit.Name
	}
	var c ratelimit.LimitCounts
	if t.charging() {
		c = m.statusOfCharge(t, &s, now)
	} else if c = m.verdict(t, &s); t.back {
		s.Code, s.Remaining = ratelimit.OK, t.requests-uint32(min(t.after, uint64(t.requests)))
	}
	if t.back {
		return s
	}
	if !t.charging() && !t.cached && s.Code == ratelimit.OverLimit && m.choices.Cache {
		m.cached[t.key] = now + t.length
	}
	if s.Code == ratelimit.OverLimit && t.rule != nil && t.rule.ShadowMode {
		s.Code = ratelimit.OK
		c.ShadowMode = c.OverLimit
	}
	m.addStats(t, c)
	return s
}

func (m *model) verdict(t *target, s *ratelimit.Status) (c ratelimit.LimitCounts) {
	limit, near, before := uint64(t.requests), m.near(t.requests), t.after-t.hits
	switch {
	case t.cached:
		s.Code = ratelimit.OverLimit
		c.OverLimit, c.OverLimitWithLocalCache = t.hits, t.hits
	case t.after > limit && before >= limit:
		s.Code = ratelimit.OverLimit
		c.OverLimit = t.hits
	case t.after > limit:
		s.Code = ratelimit.OverLimit
		c.OverLimit = t.after - limit
		c.NearLimit = limit - max(near, before)
	default:
		s.Remaining = uint32(limit - t.after)
		c.WithinLimit = t.hits
		if t.after > near {
			c.NearLimit = min(t.hits, t.after-near)
			if before >= near { // also where after-hits is below zero
				c.NearLimit = t.hits
			}
		}
	}
	return c
}

// near returns the product of 32-bit floats, rounded down, and never above the limit.
// The product of two of them is exact in 64 bits, and rounded once from there.
func (m *model) near(limit uint32) uint64 {
	ratio := m.choices.Ratio
	switch {
	case ratio == 0:
		ratio = 0.8
	case ratio < 0:
		ratio = 0
	}
	product := float32(float64(float32(limit)) * float64(ratio))
	return min(uint64(math.Floor(float64(product))), uint64(limit))
}

// conclude sets the overall code: over limit if any descriptor that is not a quota is
// over, or if there are quotas and all of them are over (REFERENCE.md, 4.2 to 4.4).
func (m *model) conclude(o *outcome) {
	over, quotas, passing := false, 0, 0
	o.tightest = -1
	for i, s := range o.statuses {
		switch {
		case !s.Quota:
			over = over || s.Code == ratelimit.OverLimit
		case s.Code == ratelimit.OverLimit:
			quotas++
		default:
			quotas++
			passing++
		}
		if t := o.targets[i]; m.choices.Metadata && t != nil && t.rule != nil && s.Code == ratelimit.OK && len(t.rule.Metadata) > 0 {
			o.metadata = merged(o.metadata, t.rule.Metadata)
		}
	}
	over = over || quotas > 0 && passing == 0
	o.code = ratelimit.OK
	switch {
	case over && m.choices.Shadow:
		m.shadowed++
	case over:
		o.code = ratelimit.OverLimit
	}
	o.tightest = tightest(o.statuses)
}

// tightest returns the last status that rejects, else the one with the least remaining
// (REFERENCE.md, 4.5).
func tightest(statuses []ratelimit.Status) int {
	for i := len(statuses) - 1; i >= 0; i-- {
		if s := statuses[i]; s.Limited && s.Code == ratelimit.OverLimit && !s.Quota {
			return i
		}
	}
	found := -1
	for i, s := range statuses {
		if s.Limited && (found < 0 || s.Remaining < statuses[found].Remaining) {
			found = i
		}
	}
	return found
}

// merged returns a merged copy of a and b; values of a win.
func merged(a, b map[string]any) map[string]any {
	out := make(map[string]any)
	for k, v := range b {
		out[k] = v
	}
	for k, v := range a {
		first, isMap := v.(map[string]any)
		second, areMaps := out[k].(map[string]any)
		if isMap && areMaps {
			v = merged(first, second)
		}
		out[k] = v
	}
	return out
}

// kinds counts the features of the outcome.
func (o *outcome) kinds() map[string]int {
	n := make(map[string]int)
	for i, s := range o.statuses {
		t := o.targets[i]
		switch {
		case t == nil:
			n["no limit"]++
		case !t.live:
			n["unlimited"]++
		case t.cached:
			n["cached"]++
		case s.Code == ratelimit.OverLimit:
			n["over"]++
		case t.back:
			n["back"]++
		case t.charging() && !t.charged.Allowed, !t.charging() && t.after > uint64(t.requests):
			n["shadowed"]++
		default:
			n["within"]++
		}
		if t != nil && t.charging() {
			n[t.algorithm.String()+" "+s.Code.String()]++
		}
		if t != nil && t.rule == nil {
			n["override"]++
		}
		if t != nil && t.live && t.zone != nil {
			n["calendar"]++
		}
		if s.Quota {
			n["quota"]++
		}
	}
	if o.metadata != nil {
		n["metadata"]++
	}
	return n
}
