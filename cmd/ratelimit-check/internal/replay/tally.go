package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// replayer replays the requests against one configuration.
type replayer struct {
	engine   *ratelimit.Engine
	now      time.Time
	counters *counters
	decision ratelimit.Decision

	rules         []*Rule // by the index of the limit
	keys, clients *tracker
	scratch       []byte

	refusals  uint64
	unlimited uint64 // requests without a limit
}

func newReplayer(rules *ratelimit.Ruleset, opts *Options) (*replayer, error) {
	s := &replayer{
		counters: &counters{
			seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
			known: make(map[id]counter), max: opts.MaxCounters, sweep: min(minSweep, opts.MaxCounters),
		},
		keys: newTracker(opts.MaxKeys), clients: newTracker(opts.MaxKeys),
	}
	s.engine = ratelimit.MustNew(s.counters, &ratelimit.Options{Now: func() time.Time { return s.now }, Fallback: s.counters})
	for _, v := range rules.Limits() {
		s.rules = append(s.rules, new(newRule(&v)))
	}
	return s, s.engine.Use(rules)
}

// replay decides a request at its own time, in Unix nanoseconds, and reports whether it is refused.
func (s *replayer) replay(ctx context.Context, request *ratelimit.Request, when int64, client string) (refused bool, err error) {
	s.now = time.Unix(0, when).UTC()
	s.counters.now = s.now.Unix()
	if err := s.engine.DecideInto(ctx, request, &s.decision); err != nil {
		return false, err
	}
	limited := false
	for i := range request.Descriptors {
		if limit, hit := s.decision.Applied(i); limit >= 0 {
			limited = true
			over := s.decision.Statuses[i].Code == ratelimit.OverLimit
			s.countRule(limit, hit, s.decision.Charge(i), over, client, request.Descriptors[i].Entries)
		}
	}
	if !limited {
		s.unlimited++
	}
	if refused = s.decision.Code == ratelimit.OverLimit; refused {
		s.refusals++
	}
	return refused, nil
}

// countRule counts a descriptor that was held to a limit: hit and charge are nil if the limit is
// unlimited, else one of them is not.
func (s *replayer) countRule(limit int, hit *ratelimit.Hit, charge *ratelimit.Charge, over bool, client string, entries []ratelimit.Entry) {
	t := s.rules[limit]
	t.Requests++
	var counter []byte
	switch {
	case hit != nil:
		counter, over = hit.Key, over || t.ShadowMode && hit.Count > uint64(hit.Limit)
	case charge != nil:
		counter, over = charge.Key, over || t.ShadowMode && !charge.Allowed
	default:
		return
	}
	k := s.counters.id(counter[:max(bytes.LastIndexByte(counter, '|'), 0)]) // of all its windows
	key := s.keys.get(k, limit, func() string { return entriesText(entries) })
	key.Requests++
	if hit != nil {
		key.SmallestLimit = max(key.SmallestLimit, hit.Count)
		if hit.Count > t.SmallestLimit {
			t.SmallestLimit, t.PeakKey, t.PeakWindow = hit.Count, key.Name, time.Unix(hit.Window, 0).UTC()
		}
	}
	if !over {
		return
	}
	t.add(s.now)
	key.add(s.now)
	if client != "" {
		s.scratch = binary.LittleEndian.AppendUint64(s.scratch[:0], uint64(limit))
		s.scratch = append(s.scratch, client...)
		s.clients.get(s.counters.id(s.scratch), limit, func() string { return shorten(client) }).add(s.now)
	}
}

// maxText bounds the text of a key or client that is kept, in bytes.
const maxText = 200

func shorten(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return strings.Clone(text)
}

func entriesText(entries []ratelimit.Entry) string {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(e.Key)
		if e.Value != "" {
			b.WriteString("=" + e.Value)
		}
		if b.Len() > maxText {
			break
		}
	}
	return shorten(b.String())
}

// tracker counts the requests of keys or clients, of a bounded number. Beyond that, it forgets
// the half with the fewest requests over the limit.
type tracker struct {
	index map[id]int32
	items []tracked
	max   int
	// forgotten is the number of items that were forgotten, and missing the most requests over the
	// limit that one that is left or forgotten may lack.
	forgotten, missing uint64
}

// tracked is one key or client.
type tracked struct {
	id    id
	limit int
	Key
}

func newTracker(most int) *tracker { return &tracker{index: make(map[id]int32), max: most} }

// get returns an item, which is valid until the next call.
func (t *tracker) get(k id, limit int, text func() string) *tracked {
	if i, ok := t.index[k]; ok {
		return &t.items[i]
	}
	if len(t.items) >= t.max {
		t.forget()
	}
	t.index[k] = int32(len(t.items))
	t.items = append(t.items, tracked{id: k, limit: limit, Key: Key{Name: text()}})
	return &t.items[len(t.items)-1]
}

// worst orders by requests over the limit, then by requests, the most first.
func worst(a, b tracked) int {
	return cmp.Or(cmp.Compare(b.OverLimit, a.OverLimit), cmp.Compare(b.SmallestLimit, a.SmallestLimit), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
}

func (t *tracker) forget() {
	slices.SortFunc(t.items, worst)
	keep := t.max / 2
	t.missing += t.items[keep].OverLimit
	t.forgotten += uint64(len(t.items) - keep)
	clear(t.items[keep:])
	t.items = t.items[:keep]
	clear(t.index)
	for i := range t.items {
		t.index[t.items[i].id] = int32(i)
	}
}

// top returns the worst items of each limit, at most n.
func (t *tracker) top(n int) map[int][]Key {
	slices.SortFunc(t.items, worst)
	all := make(map[int][]Key)
	for i := range t.items {
		if item := &t.items[i]; len(all[item.limit]) < n {
			all[item.limit] = append(all[item.limit], item.Key)
		}
	}
	return all
}
