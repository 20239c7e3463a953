package console

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// maxRecentBytes bounds a request that is kept.
const maxRecentBytes = 1 << 10

// Recent keeps the last requests that were decided, to compare configurations by them. It is safe for
// concurrent use. Create it with [NewRecent].
type Recent struct {
	mu      sync.Mutex
	slots   [][]byte // encoded requests; their memory is reused
	times   []int64  // Unix milliseconds
	next    int      // the slot of the next one
	skipped uint64   // requests that were too large
}

// NewRecent returns room for n requests, at least one, of at most 1 KiB each.
func NewRecent(n int) *Recent {
	n = max(n, 1)
	return &Recent{slots: make([][]byte, 0, n), times: make([]int64, 0, n)}
}

// Record keeps a request, in place of the oldest one. It is meant for service.Options.OnDecision: it copies the
// request under a lock, which takes some 300 ns, and allocates nothing once the room is used up. Requests larger
// than 1 KiB are left out.
func (r *Recent) Record(_ context.Context, request *ratelimit.Request, _ *ratelimit.Decision) {
	size := len(request.Domain)
	for i := range request.Descriptors {
		for _, e := range request.Descriptors[i].Entries {
			size += len(e.Key) + len(e.Value) + 2
		}
		size += 16
	}
	now := time.Now().UnixMilli()
	r.mu.Lock()
	defer r.mu.Unlock()
	if size > maxRecentBytes {
		r.skipped++
		return
	}
	if r.next == len(r.slots) && len(r.slots) < cap(r.slots) {
		r.slots, r.times = append(r.slots, nil), append(r.times, 0)
	}
	r.slots[r.next], r.times[r.next] = appendRequest(r.slots[r.next][:0], request), now
	if r.next++; r.next == cap(r.slots) {
		r.next = 0
	}
}

// timed is a request with its time.
type timed struct {
	at      time.Time
	request ratelimit.Request
}

// all returns copies of the requests, the oldest first.
func (r *Recent) all() (list []timed, skipped uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.slots)
	start := 0
	if n == cap(r.slots) {
		start = r.next
	}
	for i := range n {
		slot := (start + i) % n
		if request, err := readRequest(r.slots[slot]); err == nil {
			list = append(list, timed{time.UnixMilli(r.times[slot]), request})
		}
	}
	return list, r.skipped
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendRequest encodes a request: numbers as varints, texts after their lengths.
func appendRequest(b []byte, r *ratelimit.Request) []byte {
	b = appendText(b, r.Domain)
	b = binary.AppendUvarint(b, uint64(r.HitsAddend))
	b = binary.AppendUvarint(b, uint64(len(r.Descriptors)))
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		var flags uint64
		if d.Back {
			flags |= 1
		}
		if d.HitsAddend != nil {
			flags |= 2
		}
		if d.Limit != nil {
			flags |= 4
		}
		b = binary.AppendUvarint(b, flags)
		if d.HitsAddend != nil {
			b = binary.AppendUvarint(b, *d.HitsAddend)
		}
		if l := d.Limit; l != nil {
			b = binary.AppendUvarint(b, uint64(l.RequestsPerUnit))
			b = binary.AppendUvarint(b, uint64(l.Unit))
			b = binary.AppendUvarint(b, uint64(l.UnitMultiplier))
		}
		b = binary.AppendUvarint(b, uint64(len(d.Entries)))
		for _, e := range d.Entries {
			b = appendText(appendText(b, e.Key), e.Value)
		}
	}
	return b
}

// decoder reads what appendRequest wrote.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.err, d.b = errors.New("not a request"), nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) text() string {
	n := min(d.number(), uint64(len(d.b)))
	text := string(d.b[:n])
	d.b = d.b[n:]
	return text
}

func readRequest(b []byte) (ratelimit.Request, error) {
	d := &decoder{b: b}
	r := ratelimit.Request{Domain: d.text(), HitsAddend: uint32(d.number())}
	r.Descriptors = make([]ratelimit.Descriptor, min(d.number(), maxRecentBytes))
	for i := range r.Descriptors {
		out := &r.Descriptors[i]
		flags := d.number()
		out.Back = flags&1 != 0
		if flags&2 != 0 {
			out.HitsAddend = new(d.number())
		}
		if flags&4 != 0 {
			out.Limit = &ratelimit.Override{RequestsPerUnit: uint32(d.number()), Unit: ratelimit.Unit(d.number()), UnitMultiplier: uint32(d.number())}
		}
		out.Entries = make([]ratelimit.Entry, min(d.number(), maxRecentBytes))
		for j := range out.Entries {
			out.Entries[j] = ratelimit.Entry{Key: d.text(), Value: d.text()}
		}
	}
	return r, d.err
}

// comparison is what two configurations do with the same requests.
type comparison struct {
	Requests      int
	Skipped       uint64 // requests that were too large to keep
	From, To      time.Time
	Before, After int // refused
	Rules         []ruleComparison
	RulesMore     int
}

// ruleComparison is the hits over the limit of a rule, as numbers of requests.
type ruleComparison struct {
	Name          string
	Before, After int
}

// maxCompared is how many rules of a comparison are shown.
const maxCompared = 20

// compare decides the requests by two configurations, each with counters of its own that begin at zero. Either
// may be nil.
func (r *Recent) compare(ctx context.Context, before, after *ratelimit.Ruleset) (*comparison, error) {
	list, skipped := r.all()
	out := &comparison{Requests: len(list), Skipped: skipped}
	if len(list) == 0 {
		return out, nil
	}
	out.From, out.To = list[0].at, list[len(list)-1].at
	refusedBefore, rulesBefore, err := refusals(ctx, list, before)
	if err != nil {
		return nil, err
	}
	refusedAfter, rulesAfter, err := refusals(ctx, list, after)
	if err != nil {
		return nil, err
	}
	out.Before, out.After = refusedBefore, refusedAfter
	names := map[string]int{}
	for name, n := range rulesBefore {
		names[name] = n
	}
	for name := range rulesAfter {
		names[name] = rulesBefore[name]
	}
	for _, name := range sortedKeys(names) {
		if rulesBefore[name] == rulesAfter[name] {
			continue
		}
		if len(out.Rules) == maxCompared {
			out.RulesMore++
			continue
		}
		out.Rules = append(out.Rules, ruleComparison{name, rulesBefore[name], rulesAfter[name]})
	}
	return out, nil
}

// refusals returns how many requests rules refuse, and how many were over the limit of each rule.
func refusals(ctx context.Context, list []timed, rules *ratelimit.Ruleset) (refused int, byRule map[string]int, err error) {
	byRule = map[string]int{}
	if rules == nil {
		return 0, byRule, nil
	}
	var now time.Time
	clock := func() time.Time { return now }
	engine := ratelimit.New(memstore.New(&memstore.Options{MaxBytes: 64 << 20, Now: clock}), &ratelimit.Options{Now: clock})
	engine.Use(rules)
	limits := rules.Limits()
	var d ratelimit.Decision
	for i := range list {
		// The clocks of processors may differ a little; time does not go back here.
		if list[i].at.After(now) {
			now = list[i].at
		}
		if err := engine.DecideInto(ctx, &list[i].request, &d); err != nil {
			return 0, nil, err
		}
		_ = d.Release(ctx) // when requests end is not known: limits of concurrency refuse none
		if d.Code == ratelimit.OverLimit {
			refused++
		}
		for j := range d.Statuses {
			if held, _ := d.Held(j); held >= 0 && d.Statuses[j].Code == ratelimit.OverLimit {
				byRule[pathText(limits[held].Domain, limits[held].Path)]++
			}
		}
	}
	return refused, byRule, ctx.Err()
}
