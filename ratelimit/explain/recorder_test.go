package explain_test

import (
	"context"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// recorder is a Store and a Stats that records names.
type recorder struct {
	mu         sync.Mutex
	counters   []string
	statistics map[string]*ratelimit.LimitStats
	other      ratelimit.Counter
}

// Charge implements ratelimit.ChargeStore.
func (r *recorder) Charge(_ context.Context, charges []ratelimit.Charge) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range charges {
		if !charges[i].Refund { // that is of a request that was refused
			r.counters = append(r.counters, string(charges[i].Key))
		}
		charges[i].Apply(new(ratelimit.State))
	}
	return nil
}

// Add implements ratelimit.Store.
func (r *recorder) Add(_ context.Context, hits []ratelimit.Hit) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range hits {
		r.counters = append(r.counters, string(hits[i].Key))
		hits[i].Count = hits[i].N
	}
	return nil
}

func (r *recorder) Limit(key string) *ratelimit.LimitStats {
	if r.statistics[key] == nil {
		r.statistics[strings.Clone(key)] = ratelimit.NewLimitStats()
	}
	return r.statistics[key]
}

func (r *recorder) DomainNotFound(string) *ratelimit.Counter { return &r.other }
func (r *recorder) GlobalShadowMode() *ratelimit.Counter     { return &r.other }
