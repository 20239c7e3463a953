package ratelimit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

func TestInvalidOptions(t *testing.T) {
	local := newMapStore()
	for want, o := range map[string]ratelimit.Options{
		"":                                 {OnStoreFailure: ratelimit.FailLocal, Fallback: local, NearLimitRatio: 1, MaxRequestStats: ratelimit.NoRequestStats},
		"OnStoreFailure 'alow'":            {OnStoreFailure: "alow"},
		"OnStoreFailure local":             {OnStoreFailure: ratelimit.FailLocal},
		"NearLimitRatio 5":                 {NearLimitRatio: 5},
		"NearLimitRatio -0.1":              {NearLimitRatio: -0.1},
		"NearLimitRatio NaN":               {NearLimitRatio: float32(math.NaN())},
		"MaxRequestStats -1":               {MaxRequestStats: -1},
		"CounterKeyFormat 'x'":             {CounterKeyFormat: "x"},
		"ExpiryJitter -1s":                 {ExpiryJitter: -time.Second},
		"PerSecond: a nil *ratelimit_test": {PerSecond: (*mapStore)(nil)},
		"Fallback: a nil *ratelimit_test":  {Fallback: (*mapStore)(nil)},
	} {
		_, err := ratelimit.New(local, &o)
		_, limiterErr := ratelimit.NewLimiter("l", local, ratelimit.Per(1, ratelimit.Second), &o)
		if text := errorText(err); (want == "") != (err == nil) || !strings.Contains(text, want) || errorText(limiterErr) != text {
			t.Errorf("%s: got %v, and for a Limiter %v", want, err, limiterErr)
		}
	}
	for _, store := range []ratelimit.Store{nil, (*mapStore)(nil)} {
		if _, err := ratelimit.New(store, nil); err == nil || !strings.Contains(err.Error(), "no store") {
			t.Errorf("%v: got %v", store, err)
		}
	}
	bucket := ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Hour, Algorithm: ratelimit.TokenBucket}
	if _, err := ratelimit.NewLimiter("l", local, bucket, &ratelimit.Options{OnStoreFailure: ratelimit.FailAllow}); err == nil {
		t.Error("a token bucket in a store that can only add")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Rules that can't be held are refused, and those before them stay.
func TestUseRefuses(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 1))
	local := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{policy(ratelimit.FailLocal, rule("k", "v", 5))}})
	if err := b.engine.Use(local); err == nil || !strings.Contains(err.Error(), "rule k_v") {
		t.Errorf("a policy without a fallback store: %v", err)
	}
	equal(t, "codes", codes(b.decide(desc("k", "v")))+" "+codes(b.decide(desc("k", "v"))), "ok over")
}

// Requests of a domain without rules are logged, once a minute.
func TestUnknownDomainsAreLogged(t *testing.T) {
	var log logtest.Log
	engine := ratelimit.MustNew(newMapStore(), &ratelimit.Options{Log: log.Logger()})
	if err := engine.Use(compile(t, ratelimit.Domain{Name: "domain"})); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := engine.Decide(t.Context(), &ratelimit.Request{Domain: "other", Descriptors: []ratelimit.Descriptor{desc("k", "")}}); err != nil {
			t.Error(err)
		}
	}
	equal(t, "lines", log.Count("domain=other"), 1)
}
