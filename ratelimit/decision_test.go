package ratelimit_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestHeld follows each descriptor to the rule in Limits, and to the hit that was counted.
func TestHeld(t *testing.T) {
	t.Parallel()
	per := func(n uint32) *ratelimit.Limit { l := ratelimit.Per(n, ratelimit.Year); return &l }
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
		{Key: "a", Value: "x", Limit: per(1)},
		{Key: "a", Value: "y*", Limit: per(2), ShadowMode: true},
		{Key: "a", Limit: &ratelimit.Limit{Unlimited: true}},
		{Key: "b*", Limit: per(4)},
		{Key: "c", Rules: []ratelimit.Rule{{Key: "a", Limit: per(5)}}},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := rules.Limits()
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	engine.Use(rules)
	var d ratelimit.Decision
	for _, c := range []struct {
		entries []ratelimit.Entry
		path    []ratelimit.Entry // of the rule; nil for none
		count   uint64            // 0 for no hit
	}{
		{[]ratelimit.Entry{{Key: "a", Value: "x"}}, []ratelimit.Entry{{Key: "a", Value: "x"}}, 1},
		{[]ratelimit.Entry{{Key: "a", Value: "x"}}, []ratelimit.Entry{{Key: "a", Value: "x"}}, 2},
		{[]ratelimit.Entry{{Key: "a", Value: "yy"}}, []ratelimit.Entry{{Key: "a", Value: "y*"}}, 1},
		{[]ratelimit.Entry{{Key: "a", Value: "z"}}, []ratelimit.Entry{{Key: "a"}}, 0},
		{[]ratelimit.Entry{{Key: "bb", Value: "z"}}, []ratelimit.Entry{{Key: "b*"}}, 1},
		{[]ratelimit.Entry{{Key: "c", Value: "1"}, {Key: "a", Value: "2"}}, []ratelimit.Entry{{Key: "c"}, {Key: "a"}}, 1},
		{[]ratelimit.Entry{{Key: "c", Value: "1"}}, nil, 0},
	} {
		request := &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "none"}}}, {Entries: c.entries}}}
		if err := engine.DecideInto(context.Background(), request, &d); err != nil {
			t.Fatal(err)
		}
		limit, hit := d.Applied(1)
		var path []ratelimit.Entry
		if limit >= 0 {
			path = limits[limit].Path
		}
		count := uint64(0)
		if hit != nil {
			count = hit.Count
		}
		if !reflect.DeepEqual(path, c.path) || count != c.count {
			t.Errorf("%v was held to %v with the count %d, want %v with %d", c.entries, path, count, c.path, c.count)
		}
		if limit, hit := d.Applied(0); limit != -1 || hit != nil {
			t.Errorf("a descriptor without a rule was held to %d with %v", limit, hit)
		}
	}
	if len(limits) != 5 || limits[1].Domain != "d" || limits[1].Limit.RequestsPerUnit != 2 || !limits[1].ShadowMode || limits[0].ShadowMode || !limits[2].Limit.Unlimited {
		t.Errorf("the limits are %+v", limits)
	}
}
