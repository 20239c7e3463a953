package modeltest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// brokenStore changes hits with spoil, counts them in a map, and changes the counts with
// after.
type brokenStore struct {
	plainStore
	calls int
	spoil func(s *brokenStore, hits []ratelimit.Hit)
	after func(s *brokenStore, hits []ratelimit.Hit)
}

func (s *brokenStore) Add(ctx context.Context, hits []ratelimit.Hit) error {
	s.calls++
	own := slices.Clone(hits) // the engine must keep its hits unchanged
	if s.spoil != nil {
		s.spoil(s, own)
	}
	if err := s.plainStore.Add(ctx, own); err != nil {
		return err
	}
	for i := range hits {
		hits[i].Count = own[i].Count
	}
	if s.after != nil {
		s.after(s, hits)
	}
	return nil
}

func broken(spoil, after func(s *brokenStore, hits []ratelimit.Hit)) stage {
	return stage{newStore: func() ratelimit.Store {
		return &brokenStore{plainStore: newPlainStore(), spoil: spoil, after: after}
	}}
}

func everyHit(do func(h *ratelimit.Hit)) func(*brokenStore, []ratelimit.Hit) {
	return func(_ *brokenStore, hits []ratelimit.Hit) {
		for i := range hits {
			do(&hits[i])
		}
	}
}

var brokenStores = map[string]stage{
	"drops every seventh call": broken(func(s *brokenStore, hits []ratelimit.Hit) {
		for i := range hits {
			if s.calls%7 == 0 {
				hits[i].N = 0
			}
		}
	}, nil),
	"counts every hit as one": broken(everyHit(func(h *ratelimit.Hit) { h.N = min(h.N, 1) }), nil),
	"counts a peek":           broken(everyHit(func(h *ratelimit.Hit) { h.N = max(h.N, 1) }), nil),
	"ignores the window":      broken(everyHit(func(h *ratelimit.Hit) { h.Key = h.Key[:bytes.LastIndexByte(h.Key, '_')] }), nil),
	"returns the old count":   broken(nil, everyHit(func(h *ratelimit.Hit) { h.Count -= h.N })),
	"counts in 32 bits":       broken(nil, everyHit(func(h *ratelimit.Hit) { h.Count &= 1<<32 - 1 })),
	"adds a repeated key once": broken(func(_ *brokenStore, hits []ratelimit.Hit) {
		for i := range hits {
			for j := range i {
				if bytes.Equal(hits[i].Key, hits[j].Key) {
					hits[i].N = 0
				}
			}
		}
	}, nil),
	"swaps counts": broken(nil, func(_ *brokenStore, hits []ratelimit.Hit) {
		if n := len(hits); n > 1 {
			hits[0].Count, hits[n-1].Count = hits[n-1].Count, hits[0].Count
		}
	}),
}

// spoilt changes every rule of the engine, nested ones included.
func spoilt(do func(r *ratelimit.Rule)) stage {
	var each func(rules []ratelimit.Rule)
	each = func(rules []ratelimit.Rule) {
		for i := range rules {
			do(&rules[i])
			each(rules[i].Rules)
		}
	}
	return stage{newStore: newPlain, spoilRules: func(domains []ratelimit.Domain) {
		for _, d := range domains {
			each(d.Rules)
		}
	}}
}

func ofLimit(do func(l *ratelimit.Limit)) stage {
	return spoilt(func(r *ratelimit.Rule) {
		if r.Limit != nil {
			do(r.Limit)
		}
	})
}

var brokenRules = map[string]stage{
	"wildcards in the wrong order": {newStore: newPlain, spoilRules: func(domains []ratelimit.Domain) {
		for _, d := range domains {
			slices.Reverse(d.Rules)
		}
	}},
	"no whitelisted rules": {newStore: newPlain, spoilRules: func(domains []ratelimit.Domain) {
		for i := range domains {
			domains[i].Rules = slices.DeleteFunc(domains[i].Rules, func(r ratelimit.Rule) bool { return r.Limit == nil && r.Rules == nil })
		}
	}},
	"sources in the wrong order": {newStore: newPlain, spoilRules: func(domains []ratelimit.Domain) {
		domains[0].Rules, domains[2].Rules = domains[2].Rules, domains[0].Rules
	}},
	"no shadow mode":     spoilt(func(r *ratelimit.Rule) { r.ShadowMode = false }),
	"no quota mode":      spoilt(func(r *ratelimit.Rule) { r.QuotaMode = false }),
	"no detailed_metric": spoilt(func(r *ratelimit.Rule) { r.DetailedMetric = false }),
	"no value_to_metric": spoilt(func(r *ratelimit.Rule) { r.ValueToMetric = false }),
	"no share_threshold": spoilt(func(r *ratelimit.Rule) { r.ShareThreshold = false }),
	"no metadata":        spoilt(func(r *ratelimit.Rule) { r.Metadata = nil }),
	"no third level": spoilt(func(r *ratelimit.Rule) {
		for i := range r.Rules {
			r.Rules[i].Rules = nil
		}
	}),
	"no algorithms":  ofLimit(func(l *ratelimit.Limit) { l.Algorithm, l.Burst = ratelimit.FixedWindow, 0 }),
	"no bursts":      ofLimit(func(l *ratelimit.Limit) { l.Burst = 0 }),
	"no calendars":   ofLimit(func(l *ratelimit.Limit) { l.Align, l.TimeZone = "", "" }),
	"no time zones":  ofLimit(func(l *ratelimit.Limit) { l.TimeZone = "" }),
	"no replacement": ofLimit(func(l *ratelimit.Limit) { l.Replaces = nil }),
	"no names":       ofLimit(func(l *ratelimit.Limit) { l.Name = "" }),
	"one less":       ofLimit(func(l *ratelimit.Limit) { l.RequestsPerUnit -= min(l.RequestsPerUnit, 1) }),
	"months for years": ofLimit(func(l *ratelimit.Limit) {
		if l.Unit == ratelimit.Year {
			l.Unit = ratelimit.Month
		}
	}),
}

func options(do func(o *ratelimit.Options)) stage {
	return stage{newStore: newPlain, spoilOptions: do}
}

var brokenOptions = map[string]stage{
	"no global shadow mode": options(func(o *ratelimit.Options) { o.ShadowMode = false }),
	"no global quota mode":  options(func(o *ratelimit.Options) { o.QuotaMode = false }),
	"no prefix":             options(func(o *ratelimit.Options) { o.CounterKeyPrefix = "" }),
	"no reference keys":     options(func(o *ratelimit.Options) { o.CounterKeyFormat = ratelimit.KeyUnambiguous }),
	"no cache":              options(func(o *ratelimit.Options) { o.OverLimitCache = nil }),
	"no stop":               options(func(o *ratelimit.Options) { o.StopIncrementWhenOverLimit = false }),
	"no per-second store":   options(func(o *ratelimit.Options) { o.PerSecond = nil }),
	"a ratio a bit off":     options(func(o *ratelimit.Options) { o.NearLimitRatio = max(o.NearLimitRatio-0.01, 0.79) }),
	"few names":             options(func(o *ratelimit.Options) { o.MaxRequestStats = 1 }),
}

func requests(do func(r *ratelimit.Request)) stage {
	return stage{newStore: newPlain, spoilRequest: do}
}

var brokenRequests = map[string]stage{
	"no hits of the request": requests(func(r *ratelimit.Request) { r.HitsAddend = 0 }),
	"no hits of descriptors": requests(func(r *ratelimit.Request) {
		r.Descriptors = slices.Clone(r.Descriptors)
		for i := range r.Descriptors {
			r.Descriptors[i].HitsAddend = nil
		}
	}),
	"no overrides": requests(func(r *ratelimit.Request) {
		r.Descriptors = slices.Clone(r.Descriptors)
		for i := range r.Descriptors {
			r.Descriptors[i].Limit = nil
		}
	}),
	"nothing given back": requests(func(r *ratelimit.Request) {
		r.Descriptors = slices.Clone(r.Descriptors)
		for i := range r.Descriptors {
			r.Descriptors[i].Refund = false
		}
	}),
	"descriptors in the wrong order": requests(func(r *ratelimit.Request) {
		r.Descriptors = slices.Clone(r.Descriptors)
		slices.Reverse(r.Descriptors)
	}),
}

// TestModelDetectsDefects checks that each defect is detected within 600 scripts.
func TestModelDetectsDefects(t *testing.T) {
	for _, group := range []map[string]stage{brokenStores, brokenRules, brokenOptions, brokenRequests} {
		for name, on := range group {
			t.Run(name, func(t *testing.T) {
				for seed := range 600 {
					if play(scripts.Example(seed), &on) != nil {
						t.Logf("detected in script %d", seed)
						return
					}
				}
				t.Error("not detected")
			})
		}
	}
}
