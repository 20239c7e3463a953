package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// The level of a domain that is not configured has no rules.
func TestLevelOfNoDomain(t *testing.T) {
	t.Parallel()
	level := new(ratelimit.Ruleset).Level("nowhere")
	entry := ratelimit.Entry{Key: "client", Value: "ann"}
	if !level.Empty() || level.Keys() != nil || level.Values("client") != nil || level.Match(entry) != nil || level.Exact(entry) != nil || level.KeyAlone("client") != nil || len(level.Wildcards(entry)) > 0 {
		t.Error("the zero level has rules")
	}
}
