package prom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// Values of clients are cut and escaped, and series are bounded in number and unique.
func TestTopKeys(t *testing.T) {
	long := strings.Repeat("x", 200)
	keys := func(values ...string) (all []ratelimit.KeyCount) {
		for i, v := range values {
			all = append(all, ratelimit.KeyCount{Entries: []ratelimit.Entry{{Key: "k", Value: v}}, Count: uint64(100 - i)})
		}
		return all
	}
	top := &ratelimit.TopKeys{Rules: []ratelimit.RuleKeys{
		{Domain: "d", Path: []ratelimit.Entry{{Key: "k", Value: "v*"}, {Key: "l"}}, ByHits: keys("a\n\"\xff", long+"1", long+"2", "fourth"), ByRefusals: keys("r")},
		{Limit: -1, ByHits: []ratelimit.KeyCount{{Domain: "e", Count: 7}}},
	}}
	e, log := exporter(t, stats.New(nil), prom.Options{
		Tags:    []stats.Tag{{Name: "zone", Value: "north"}, {Name: "key", Value: "hidden"}},
		TopKeys: func() *ratelimit.TopKeys { return top }, TopKeysPerRule: 3,
	})
	require.Equal(t, []string{
		`ratelimit_top_key_hits{domain="d",key="k=a?\"?",rule="k_v*.l",zone="north"} 100`,
		`ratelimit_top_key_hits{domain="d",key="k=` + long[:126] + `...",rule="k_v*.l",zone="north"} 197`,
		`ratelimit_top_key_hits{domain="e",key="",rule="",zone="north"} 7`,
		`ratelimit_top_key_refusals{domain="d",key="k=r",rule="k_v*.l",zone="north"} 100`,
	}, samples(t, e))
	parsed(t, e)

	top.Rules = nil
	for i := range 900 {
		top.Rules = append(top.Rules, ratelimit.RuleKeys{Domain: fmt.Sprint(i), ByHits: keys("a", "b")})
	}
	require.Len(t, samples(t, e), 1000)
	top = nil
	require.Empty(t, samples(t, e))
	require.Empty(t, log.String())

	e, _ = exporter(t, stats.New(nil), prom.Options{TopKeys: func() *ratelimit.TopKeys { panic("not asked for") }})
	require.Empty(t, samples(t, e))
}
