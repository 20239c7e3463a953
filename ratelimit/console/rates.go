package console

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// slotLength is the time that one point of a rate is the average of.
	slotLength = 2 * time.Second
	// slots is the number of points that are kept of each rule: three minutes.
	slots = 90
	// current is the number of points whose average is the current rate.
	current = 5
	// maxRings bounds the rules with points, of about 1.1 kB each. Others have a current rate only.
	maxRings = 10_000
)

// rates holds the rates of the last minutes. They are sampled by Console.Sample, and when a page shows them.
// What was counted between two samples is spread evenly over that time.
type rates struct {
	mu     sync.Mutex
	rules  *ratelimit.Ruleset
	live   bool             // whether there are statistics
	known  map[string]*ring // by the id of the rule; those whose statistics depend on the request are missing
	rings  []*ring          // by limit
	slot   int64            // of the last sample
	filled int              // points that are known, up to slots
	total  ring
}

// ring holds the points of a rule.
type ring struct {
	stats  *ratelimit.LimitStats // nil if they depend on the request
	last   ratelimit.LimitCounts
	now    point         // the last one
	points *[slots]point // by slot modulo slots; nil without hits in that time
	busy   int64         // the last slot with hits
}

// point is the growth of the counters of a rule in a second.
type point struct{ Allowed, Near, Refused float32 }

// read returns the present counters.
func (g *ring) read() (c ratelimit.LimitCounts) {
	if g.stats != nil {
		c = g.stats.Load()
	}
	return c
}

// sum adds the counters that points are made of.
func sum(a, b ratelimit.LimitCounts) ratelimit.LimitCounts {
	return ratelimit.LimitCounts{WithinLimit: a.WithinLimit + b.WithinLimit, NearLimit: a.NearLimit + b.NearLimit, OverLimit: a.OverLimit + b.OverLimit}
}

// growth returns the growth in a second. Counters that began anew count from zero.
func growth(before, now ratelimit.LimitCounts, seconds float64) point {
	per := func(before, now uint64) float32 {
		if now < before {
			before = 0
		}
		return float32(float64(now-before) / seconds)
	}
	return point{per(before.WithinLimit, now.WithinLimit), per(before.NearLimit, now.NearLimit), per(before.OverLimit, now.OverLimit)}
}

// Sample reads the counters of all rules every two seconds until ctx ends, so that a page shows the last three
// minutes as soon as it is opened. It reads what the engine counts anyway; decisions do not wait for it. Without it,
// rates begin when somebody opens a page.
func (c *Console) Sample(ctx context.Context) {
	for {
		now := c.opts.Now()
		c.rates.sample(c.engine, now)
		next := time.NewTimer(now.Truncate(slotLength).Add(slotLength).Sub(now))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
	}
}

// sample reads the counters if the last reading is old enough.
func (r *rates) sample(engine *ratelimit.Engine, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules, live := engine.LimitStats()
	if rules != r.rules {
		r.use(rules, live)
	}
	slot := now.UnixNano() / int64(slotLength)
	passed := slot - r.slot
	switch {
	case r.slot == 0 || passed < 0: // the first one, or the clock was set back
		r.filled, passed = 0, 0
	case passed == 0:
		return
	}
	var total ratelimit.LimitCounts
	points := 0
	for _, ring := range r.rings {
		now := ring.read()
		total = sum(total, now)
		ring.add(now, slot, passed, points < maxRings)
		if ring.points != nil {
			points++
		}
	}
	r.total.add(total, slot, passed, true)
	r.slot, r.filled = slot, int(min(int64(r.filled)+passed, slots))
}

// add adds the points since the last sample. Without hits in the last minutes, or without room, there are none.
func (g *ring) add(now ratelimit.LimitCounts, slot, passed int64, room bool) {
	before := g.last
	g.last = now
	if passed == 0 {
		g.now, g.points = point{}, nil
		return
	}
	if g.now = growth(before, now, (time.Duration(passed) * slotLength).Seconds()); g.now != (point{}) {
		g.busy = slot
	}
	if !room || slot-g.busy >= slots {
		g.points = nil
		return
	}
	if g.points == nil {
		g.points = new([slots]point)
	}
	for s := slot - min(passed, slots) + 1; s <= slot; s++ {
		g.points[s%slots] = g.now
	}
}

// use follows new rules. Rules that were there before keep their points.
func (r *rates) use(rules *ratelimit.Ruleset, live []*ratelimit.LimitStats) {
	known := r.known
	r.rules, r.known, r.rings = rules, map[string]*ring{}, nil
	if r.live = live != nil; rules == nil || !r.live {
		return
	}
	var total ratelimit.LimitCounts
	for i, l := range rules.Limits() {
		id := ruleID(l.Domain, l.Path)
		g := known[id]
		if g == nil {
			g = &ring{stats: live[i]}
			g.last = g.read()
		}
		g.stats = live[i]
		total = sum(total, g.last)
		if r.rings = append(r.rings, g); live[i] != nil {
			r.known[id] = g
		}
	}
	r.total.last = total // the counts of removed rules are not part of it
}

// rate is the part of a rule's points that pages show.
type rate struct {
	point
	// Points are those of the last minutes, the oldest first.
	Points []point
}

// find calls do with the ring of a rule, and reports false if its hits are not counted by rule.
func (r *rates) find(id string, do func(g *ring)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.known[id]
	if g != nil {
		do(g)
	}
	return g != nil
}

// of returns the rate of a rule, false if its hits are not counted by rule.
func (r *rates) of(id string) (out rate, ok bool) {
	ok = r.find(id, func(g *ring) { out = r.rateOf(g) })
	return out, ok
}

// now returns the current rate of a rule.
func (r *rates) now(id string) (out point) {
	r.find(id, func(g *ring) { out = r.currentOf(g) })
	return out
}

// counts returns the counters of a rule since the start, and those of its candidate. Either may be nil.
func (r *rates) counts(id string) (counts, candidate *ratelimit.LimitCounts) {
	r.find(id, func(g *ring) {
		counts = new(g.stats.Load())
		if trial := g.stats.Candidate(); trial != nil {
			candidate = new(trial.Load())
		}
	})
	return counts, candidate
}

// all returns the rate of all rules together, when the points begin if they do not reach back all the way, and
// whether there are statistics of limits.
func (r *rates) all() (total rate, since time.Time, counted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.filled < slots {
		since = time.Unix(0, (r.slot-int64(r.filled)+1)*int64(slotLength))
	}
	return r.rateOf(&r.total), since, r.rules == nil || r.live
}

// rateOf requires the lock.
func (r *rates) rateOf(g *ring) rate {
	out := rate{point: r.currentOf(g)}
	if g.points == nil {
		return out
	}
	out.Points = make([]point, 0, r.filled)
	for s := r.slot - int64(r.filled) + 1; s <= r.slot; s++ {
		out.Points = append(out.Points, g.points[s%slots])
	}
	return out
}

// currentOf requires the lock.
func (r *rates) currentOf(g *ring) point {
	n := min(r.filled, current)
	if g.points == nil || n == 0 {
		return g.now
	}
	var mean point
	for s := r.slot - int64(n) + 1; s <= r.slot; s++ {
		p, n := g.points[s%slots], float32(n)
		mean.Allowed, mean.Near, mean.Refused = mean.Allowed+p.Allowed/n, mean.Near+p.Near/n, mean.Refused+p.Refused/n
	}
	return mean
}

// The numbers of a point.
func allowed(p point) float32 { return p.Allowed }
func near(p point) float32    { return p.Near }
func refused(p point) float32 { return p.Refused }

// lines are the points of the lines of a drawing of 120 by 28 units.
type lines struct{ Allowed, Refused string }

// Lines draws the last minutes. Both lines have the same scale.
func (r rate) Lines() lines {
	if len(r.Points) == 0 {
		return lines{}
	}
	ok, no := r.series(allowed), r.series(refused)
	top := max(slices.Max(ok), slices.Max(no))
	draw := func(values []float64) string {
		var b strings.Builder
		for i, v := range values {
			y := 27.0
			if top > 0 {
				y -= 25 * v / top
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", 120*float64(i)/(slots-1), y)
		}
		return strings.TrimSpace(b.String())
	}
	if slices.Max(no) == 0 {
		return lines{Allowed: draw(ok)}
	}
	return lines{draw(ok), draw(no)}
}

// series returns one of the numbers of all points, the same length whatever is known.
func (r *rate) series(of func(point) float32) []float64 {
	out := make([]float64, slots)
	for i, p := range r.Points {
		out[slots-len(r.Points)+i] = math.Round(float64(of(p))*100) / 100
	}
	return out
}
