package ratelimit

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// ExplainOptions are the choices of [Ruleset.Explain]. A nil *ExplainOptions is the
// zero one.
type ExplainOptions struct {
	// Now is the time whose windows the counter keys are for. Default: the present.
	Now time.Time
	// CounterKeyPrefix is that of the engine's Options.
	CounterKeyPrefix string
}

// Explanation says what rules make of a request, and why. It is plain data, made
// to be read as JSON or by [Explanation.String]; descriptors and levels are numbered
// as in the slices, from 0, unless a text says "level", which counts from 1.
type Explanation struct {
	Domain string `json:"domain"`
	// Configured says whether there is such a domain. If not, Domains are some of
	// those that there are, the most similar first, and DomainsLeftOut counts the
	// others.
	Configured     bool     `json:"configured"`
	Domains        []string `json:"domains,omitempty"`
	DomainsLeftOut int      `json:"domains_left_out,omitempty"`
	// Descriptors are those of the request, in its order.
	Descriptors []ExplainedDescriptor `json:"descriptors"`
}

// Outcome is what a descriptor is held to.
type Outcome string

// The outcomes. All but OutcomeLimit let the descriptor pass without counting it.
const (
	// OutcomeLimit is a limit, of a rule or of the request itself.
	OutcomeLimit Outcome = "limit"
	// OutcomeUnlimited is a rule that says so.
	OutcomeUnlimited Outcome = "unlimited"
	// OutcomeWhitelisted is a rule with neither a limit nor rules below it.
	OutcomeWhitelisted Outcome = "whitelisted"
	// OutcomeReplaced is a limit that another rule of the same request replaces.
	OutcomeReplaced Outcome = "replaced"
	// OutcomeNone is that no rule has anything to say.
	OutcomeNone Outcome = "no limit"
)

// ExplainedDescriptor is what became of one descriptor.
type ExplainedDescriptor struct {
	// Levels has one element per entry, in the order of the entries.
	Levels  []ExplainedLevel `json:"levels"`
	Outcome Outcome          `json:"outcome"`
	// Reason says in a sentence how the outcome came about.
	Reason string `json:"reason"`
	// Limit is set if Outcome is limit, unlimited or replaced.
	Limit *ExplainedLimit `json:"limit,omitempty"`
}

// ExplainedLimit is a limit and the names that it counts under.
type ExplainedLimit struct {
	RequestsPerUnit uint32 `json:"requests_per_unit"`
	Unit            string `json:"unit,omitempty"` // empty if Unlimited
	Unlimited       bool   `json:"unlimited,omitempty"`
	// FromRequest says that the limit came with the descriptor and is no rule's.
	FromRequest bool   `json:"from_request,omitempty"`
	Name        string `json:"name,omitempty"`
	ShadowMode  bool   `json:"shadow_mode,omitempty"`
	QuotaMode   bool   `json:"quota_mode,omitempty"`
	// Replaces are the names that this limit replaces.
	Replaces []ExplainedReplacement `json:"replaces,omitempty"`
	// ReplacedBy are the indices of the descriptors whose limits replace this one.
	ReplacedBy []int `json:"replaced_by,omitempty"`

	// CounterKey is the name of the counter at the time of the explanation, in the
	// window from WindowStart, inclusive, to WindowEnd, exclusive, in Unix seconds.
	// All are zero where nothing is counted.
	CounterKey  string `json:"counter_key,omitempty"`
	WindowStart int64  `json:"window_start,omitempty"`
	WindowEnd   int64  `json:"window_end,omitempty"`
	// StatisticsKey is what the engine asks its Stats for, before it folds names
	// that come with requests.
	StatisticsKey string `json:"statistics_key,omitempty"`
}

// ExplainedReplacement is a name that a limit replaces, with the indices of the
// descriptors in the same request whose limits it concerns, if there are any.
type ExplainedReplacement struct {
	Name        string `json:"name"`
	Descriptors []int  `json:"descriptors,omitempty"`
}

// Explain says which rules the request would meet in an engine that uses r, and
// why. It counts nothing and asks no store. The error is the one that Decide would
// return for the same request, so with a valid request there is none.
//
// What an engine is set to beyond its rules (shadow and quota mode for everything,
// caches) is not part of it.
func (r *Ruleset) Explain(request *Request, opts *ExplainOptions) (*Explanation, error) {
	if err := validate(request); err != nil {
		return nil, err
	}
	x := newExplainer(r, request, opts)
	out := &Explanation{Domain: request.Domain, Configured: x.domain != nil}
	if x.domain == nil {
		out.Domains = r.similarDomains(request.Domain)
		shown := min(len(out.Domains), maxShown)
		out.Domains, out.DomainsLeftOut = out.Domains[:shown:shown], len(out.Domains)-shown
	}
	for i := range request.Descriptors {
		out.Descriptors = append(out.Descriptors, x.descriptor(i))
	}
	return out, nil
}

// maxShown is how many rules, values or domains of one kind are listed.
const maxShown = 10

// similarDomains are the names of all domains, those first that differ only a
// little.
func (r *Ruleset) similarDomains(name string) []string {
	return slices.SortedFunc(maps.Keys(r.domains), func(a, b string) int {
		return compareSimilar(name, a, b)
	})
}

// explainer has the engine match and prepare a request as for a decision, and stops
// short of the store.
type explainer struct {
	rules    *Ruleset
	domain   *domain
	request  *Request
	now      int64
	decision Decision
	walks    []walk // one per descriptor
	scratch  []byte
}

func newExplainer(r *Ruleset, request *Request, opts *ExplainOptions) *explainer {
	if opts == nil {
		opts = &ExplainOptions{}
	}
	now := opts.Now
	if now.IsZero() {
		now = time.Now()
	}
	x := &explainer{rules: r, domain: r.domain(request.Domain), request: request, now: now.Unix()}
	e := New(nil, &Options{CounterKeyPrefix: opts.CounterKeyPrefix, Log: slog.New(slog.DiscardHandler)})
	u := &inUse{rules: r}
	x.decision.reset(e, len(request.Descriptors))
	e.match(u, request, &x.decision)
	e.prepare(u, request, &x.decision, newTick(x.now))
	for i := range request.Descriptors {
		x.walks = append(x.walks, x.walk(&request.Descriptors[i]))
	}
	return x
}

func (x *explainer) descriptor(i int) ExplainedDescriptor {
	c, w := &x.decision.work.checks[i], &x.walks[i]
	out := ExplainedDescriptor{Levels: w.levels}
	switch {
	case x.domain == nil:
		out.Outcome, out.Reason = OutcomeNone, fmt.Sprintf("domain %q is not configured", x.request.Domain)
	case c.override != nil:
		out.Outcome, out.Reason = OutcomeLimit, "the descriptor brings its own limit, and rules are not consulted"
		out.Limit = &ExplainedLimit{FromRequest: true}
	default:
		out.Outcome, out.Reason = w.outcome()
	}
	if end := w.end(); end != nil && end.limit != nil {
		out.Limit = x.ruleLimit(end)
		if c.rule == nil {
			out.Outcome, out.Reason = OutcomeReplaced, "a limit of the same request replaces it"
			out.Limit.ReplacedBy = x.replacedBy(end)
		}
	}
	if c.live {
		x.addCounter(out.Limit, i)
	}
	return out
}

func (x *explainer) ruleLimit(n *node) *ExplainedLimit {
	l := &ExplainedLimit{
		RequestsPerUnit: n.requests,
		Unlimited:       n.unlimited,
		Name:            n.limit.name,
		ShadowMode:      n.shadow,
		QuotaMode:       n.quota,
	}
	if n.unlimited {
		l.RequestsPerUnit = 0
	} else {
		l.Unit = n.unit.String()
	}
	for _, id := range n.limit.replaces {
		l.Replaces = append(l.Replaces, ExplainedReplacement{Name: x.domain.names[id], Descriptors: x.named(id)})
	}
	return l
}

// named are the descriptors whose limits have the name and can be replaced.
func (x *explainer) named(id int32) (descriptors []int) {
	for i := range x.walks {
		if n := x.walks[i].end(); n != nil && n.named && !n.unlimited && n.limit.nameID == id {
			descriptors = append(descriptors, i)
		}
	}
	return descriptors
}

// replacedBy are the descriptors whose limits replace that of the rule.
func (x *explainer) replacedBy(replaced *node) (descriptors []int) {
	for i := range x.walks {
		n := x.walks[i].end()
		if n != nil && n.limit != nil && slices.Contains(n.limit.replaces, replaced.limit.nameID) {
			descriptors = append(descriptors, i)
		}
	}
	return descriptors
}

// addCounter adds the names under which a live limit counts.
func (x *explainer) addCounter(l *ExplainedLimit, i int) {
	work, entries := &x.decision.work, x.request.Descriptors[i].Entries
	c := &work.checks[i]
	hit := &work.hits[c.store][c.hit]
	l.RequestsPerUnit, l.Unit = c.requests, c.unit.String()
	l.CounterKey, l.WindowStart, l.WindowEnd = string(hit.Key), hit.Window, hit.End()
	switch {
	case c.override != nil:
		l.StatisticsKey = string(appendOverrideMetric(nil, x.domain.name, entries))
	case c.rule.perRequest:
		l.StatisticsKey = string(c.rule.limit.appendMetric(nil, entries))
	default:
		l.StatisticsKey = c.rule.limit.metric
	}
}
