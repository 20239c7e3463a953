package ratelimit

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// TopKeys are the busiest counters of each rule: see [Engine.TopKeys].
type TopKeys struct {
	// From and To are the period: the current minute of the clock and the one before, or the time
	// since the engine was created if that is shorter.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Rules are the rules with hits in the period, in the order of [Ruleset.Limits].
	Rules []RuleKeys `json:"rules"`
}

// RuleKeys are the busiest counters of one rule.
type RuleKeys struct {
	// Limit is the index in [Ruleset.Limits], and -1 for all limits that came with requests, which
	// are the last and have no Domain and Path.
	Limit  int     `json:"-"`
	Domain string  `json:"-"`
	Path   []Entry `json:"-"`
	// Hits and Refusals are estimates of all hits of the rule, and of those over its limit, in shadow
	// mode too.
	Hits     uint64 `json:"hits"`
	Refusals uint64 `json:"refusals"`
	// ByHits are the keys with the most hits, and ByRefusals those with the most hits over the
	// limit: at most 64 each, the greatest first.
	ByHits     []KeyCount `json:"by_hits"`
	ByRefusals []KeyCount `json:"by_refusals"`
}

// KeyCount is an estimate for one key.
type KeyCount struct {
	// Domain is set where the limit came with the request.
	Domain string `json:"domain,omitempty"`
	// Entries are those of the descriptor. A wildcard whose values share one counter stands for them.
	// Text after 256 bytes is replaced by "…".
	Entries []Entry `json:"entries"`
	Count   uint64  `json:"count"`
	// Error bounds by how much the true number differs from Count. It is strict, and 0 as long as a
	// rule has at most 64 keys, while the engine decides up to 8,192 descriptors a second. Beyond
	// that only a random part of them is sampled, and the bound is that of three standard deviations.
	Error uint64 `json:"error"`
}

const (
	topSlots     = 64      // keys of a sketch
	topText      = 256     // bytes of a key
	topPeriod    = 60      // seconds of a generation
	topPerSecond = 1 << 13 // decisions that are sampled
	topShift     = 20      // at least one of 2^20 decisions
	// topRoom bounds the keys of all sketches; beyond it each has at least one.
	topRoom = 1 << 16
	topHits = 1 << 32 // bounds the hits of one descriptor
)

// topKeys finds the busiest keys. It samples all decisions while there are few, and a random
// part of them, each with the weight of those that it stands for, while there are many: a sample
// costs about as much as a decision.
type topKeys struct {
	// gate holds the second to which it applies and, below, the largest draw that is sampled.
	gate atomic.Uint64
	_    [56]byte // it is read by every decision, the rest is written

	mu      sync.Mutex
	seed    maphash.Seed
	from    int64 // Unix seconds
	second  int64
	shift   int    // one of 2^shift decisions is sampled
	samples int    // in this second, or since shift was increased
	seen    uint64 // an estimate of the decisions in this second
	slots   int    // of all sketches
	scratch []byte
}

// ruleTop holds the sketches of a rule.
type ruleTop struct {
	minute int64
	now    topGeneration
	before topGeneration // the minute before
}

// topGeneration holds the hits of a minute.
type topGeneration struct{ hits, refusals sketch }

func (g *topGeneration) slots() int { return len(g.hits.slots) + len(g.refusals.slots) }

// sketch estimates the greatest counts of a stream with the Space-Saving algorithm: a new key takes
// the slot of the one with the least hits, and these count as its possible error.
type sketch struct {
	hashes   []uint64 // of the slots, together in few cache lines
	slots    []topSlot
	replaced bool
	spread   float64 // the greatest variance of a hit in an estimate
}

type topSlot struct {
	count uint64
	over  uint64  // maximum overestimate
	noise float64 // the variance of the estimate
	text  []byte  // what appendTopKey returns, cut
}

func gateOf(second int64, shift int) uint64 {
	return uint64(uint32(second))<<32 | math.MaxUint32>>shift
}

// due draws whether a decision may be sampled: add decides. The first one of a second is.
func (k *topKeys) due(w *workspace, now int64) bool {
	w.draw = w.draw*1664525 + 1013904223
	gate := k.gate.Load()
	return w.draw <= uint32(gate) || uint32(gate>>32) != uint32(now)
}

// add counts the hits of a descriptor.
func (k *topKeys) add(u *inUse, c *check, w *workspace, r *Request, i int, over bool, now int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now > k.second || now < k.second-1 { // a decision may have begun in the last second
		k.turn(now)
	}
	if w.draw > math.MaxUint32>>k.shift || c.hits == 0 {
		return
	}
	k.sampled()
	id := len(u.top) - 1
	if c.rule != nil {
		id = w.first + int(c.rule.id)
	}
	if u.top[id] == nil {
		u.top[id] = new(ruleTop)
	}
	top := u.top[id]
	k.turnRule(top, now/topPeriod)
	k.scratch = appendTopKey(k.scratch[:0], c, r.Domain, r.Descriptors[i].Entries)
	hash := maphash.Bytes(k.seed, k.scratch)
	weight := uint64(1) << k.shift
	k.count(&top.now.hits, hash, min(c.hits, topHits), weight)
	if over {
		k.count(&top.now.refusals, hash, min(c.hits, topHits), weight)
	}
	if cap(k.scratch) > keepBytes {
		k.scratch = nil
	}
}

// turn begins another second, with as many samples as the last one suggests.
func (k *topKeys) turn(now int64) {
	if now != k.second+1 {
		k.seen = 0
	}
	k.shift = 0
	for k.seen>>k.shift > topPerSecond && k.shift < topShift {
		k.shift++
	}
	k.second, k.samples, k.seen = now, 0, 0
	k.gate.Store(gateOf(now, k.shift))
}

// sampled counts a sample, and makes further ones rarer if there are many.
func (k *topKeys) sampled() {
	k.seen += 1 << k.shift
	if k.samples++; k.samples > topPerSecond && k.shift < topShift {
		k.shift++
		k.samples = topPerSecond / 2
		k.gate.Store(gateOf(k.second, k.shift))
	}
}

// count adds hits that stand for weight times as many. The key is in k.scratch.
func (k *topKeys) count(s *sketch, hash, hits, weight uint64) {
	n, spread := hits*weight, float64(hits)*float64(weight-1)
	s.spread = max(s.spread, spread)
	i := slices.Index(s.hashes, hash)
	if i < 0 {
		i = k.slot(s)
		s.hashes[i] = hash
		slot := &s.slots[i]
		slot.over, slot.text = slot.count, append(slot.text[:0], k.scratch[:min(len(k.scratch), topText)]...)
		slot.noise = float64(slot.over) * s.spread
	}
	slot := &s.slots[i]
	slot.count = addUpTo(slot.count, n)
	slot.noise += float64(n) * spread
}

// addUpTo adds, up to the largest number.
func addUpTo(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

// slot returns a slot for a new key: an unused one, or that of the key with the least hits.
func (k *topKeys) slot(s *sketch) int {
	if n := len(s.slots); n < topSlots && (k.slots < topRoom || n == 0) {
		k.slots++
		s.slots, s.hashes = append(s.slots, topSlot{}), append(s.hashes, 0)
		return n
	}
	s.replaced = true
	return s.least()
}

// least returns the slot with the least hits.
func (s *sketch) least() int {
	least := 0
	for i := range s.slots {
		if s.slots[i].count < s.slots[least].count {
			least = i
		}
	}
	return least
}

// turnRule begins another minute of a rule. A clock that is set back by up to a minute is ignored.
func (k *topKeys) turnRule(t *ruleTop, minute int64) {
	if minute == t.minute || minute == t.minute-1 {
		return
	}
	k.slots -= t.before.slots()
	t.before, t.now = t.now, topGeneration{}
	if minute != t.minute+1 {
		k.slots -= t.before.slots()
		t.before = topGeneration{}
	}
	t.minute = minute
}

// appendTopKey appends the key of a descriptor: each text after its length.
func appendTopKey(b []byte, c *check, domain string, entries []Entry) []byte {
	if c.rule == nil {
		b = appendTopText(b, domain)
	}
	for i := range entries {
		value := entries[i].Value
		if c.rule != nil && c.rule.limit.path[i].shared {
			value = c.rule.limit.path[i].value
		}
		b = appendTopText(appendTopText(b, entries[i].Key), value)
	}
	return b
}

func appendTopText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// topTexts splits a key. The text that was cut ends in "…".
func topTexts(b []byte) (texts []string) {
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return append(texts, "…")
		}
		b = b[size:]
		if n > uint64(len(b)) {
			return append(texts, string(b)+"…")
		}
		texts, b = append(texts, string(b[:n])), b[n:]
	}
	return texts
}

// TopKeys returns the busiest counters of each rule, nil without Options.TopKeys. Hits that were
// not counted, because the over-limit cache or a failure policy answered, are included. Rules keep
// their numbers when others are activated. Decisions wait for it while one rule is copied.
func (e *Engine) TopKeys() *TopKeys {
	if e.top == nil {
		return nil
	}
	now := e.clock.read().now
	out := &TopKeys{To: time.Unix(now, 0)}
	minute := now / topPeriod
	out.From = time.Unix(max(e.top.from, (minute-1)*topPeriod), 0)
	u := e.inUse.Load()
	if u == nil {
		return out
	}
	for id := range u.top {
		r := e.top.read(u, id, minute)
		if r == nil {
			continue
		}
		if r.Limit = id; id == len(u.rules.limits) {
			r.Limit = -1
		} else {
			l := u.rules.limits[id]
			r.Domain, r.Path = l.domain, l.entries()
		}
		out.Rules = append(out.Rules, *r)
	}
	return out
}

// read returns the keys of a rule, nil if it had no hits.
func (k *topKeys) read(u *inUse, id int, minute int64) *RuleKeys {
	k.mu.Lock()
	defer k.mu.Unlock()
	top := u.top[id]
	if top == nil {
		return nil
	}
	k.turnRule(top, minute)
	fromRequests := id == len(u.rules.limits)
	r := new(RuleKeys)
	r.Hits, r.ByHits = merge(top.now.hits, top.before.hits, fromRequests)
	r.Refusals, r.ByRefusals = merge(top.now.refusals, top.before.refusals, fromRequests)
	if r.Hits == 0 {
		return nil
	}
	return r
}

// merge returns the sum of two sketches and their keys, those with the most hits first.
func merge(a, b sketch, fromRequests bool) (total uint64, keys []KeyCount) {
	a.slots, b.slots = slices.Clone(a.slots), slices.Clone(b.slots)
	for i := range b.slots {
		if !slices.Contains(a.hashes, b.hashes[i]) {
			b.slots[i].missed(&a)
		}
	}
	for i := range a.slots {
		j := slices.Index(b.hashes, a.hashes[i])
		if j < 0 {
			a.slots[i].missed(&b)
			continue
		}
		slot, other := &a.slots[i], &b.slots[j]
		slot.count, slot.over, slot.noise = addUpTo(slot.count, other.count), addUpTo(slot.over, other.over), slot.noise+other.noise
		other.count = 0
	}
	for _, slot := range append(a.slots, b.slots...) {
		if slot.count > 0 {
			total = addUpTo(total, slot.count)
			keys = append(keys, slot.view(fromRequests, max(a.spread, b.spread)))
		}
	}
	slices.SortStableFunc(keys, func(x, y KeyCount) int { return cmp.Compare(y.Count, x.Count) })
	return total, keys[:min(len(keys), topSlots)]
}

// missed adds the error of a key that another sketch may have dropped.
func (t *topSlot) missed(other *sketch) {
	if !other.replaced {
		return
	}
	least := other.slots[other.least()].count
	t.over = addUpTo(t.over, least)
	t.noise += float64(least) * other.spread
}

// view shows a slot. The random part of the error is the score interval of a Poisson distribution, which
// is right for few samples too.
func (t *topSlot) view(fromRequest bool, spread float64) KeyCount {
	const z = 3.0 // standard deviations
	noise := z*z/2*spread + z*math.Sqrt(t.noise+z*z/4*spread*spread)
	out := KeyCount{Count: t.count, Error: addUpTo(t.over, uint64(min(math.Ceil(noise), 1<<63)))}
	texts := topTexts(t.text)
	if fromRequest && len(texts) > 0 {
		out.Domain, texts = texts[0], texts[1:]
	}
	for ; len(texts) > 0; texts = texts[min(2, len(texts)):] {
		entry := Entry{Key: texts[0]}
		if len(texts) > 1 {
			entry.Value = texts[1]
		}
		out.Entries = append(out.Entries, entry)
	}
	return out
}

// topOf returns the sketches of rules: those that the old rules had too, and of limits from
// requests.
func (k *topKeys) topOf(rules *Ruleset, old *inUse) []*ruleTop {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := make(map[string]*ruleTop) // of domains that have changed
	k.slots = 0
	top := make([]*ruleTop, len(rules.limits)+1)
	if old != nil {
		for _, p := range old.rules.domains {
			before := old.top[p.first : p.first+len(p.limits)]
			if now := p.kept(rules); now != nil {
				copy(top[now.first:], before)
				continue
			}
			for i, l := range p.limits {
				if before[i] != nil {
					known[l.topName()] = before[i]
				}
			}
		}
		top[len(top)-1] = old.top[len(old.top)-1]
	}
	for _, p := range rules.domains {
		if len(known) == 0 || p.kept(old.rules) != nil {
			continue
		}
		for i, l := range p.limits {
			top[p.first+i] = known[l.topName()]
		}
	}
	for _, t := range top {
		if t != nil {
			k.slots += t.now.slots() + t.before.slots()
		}
	}
	return top
}

// topName identifies a rule.
func (l *limit) topName() string { return fmt.Sprintf("%q%q", l.domain, l.entries()) }
