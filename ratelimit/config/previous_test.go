package config_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestPrevious changes a few files many times. What is loaded after the configuration before is what is loaded anew, with all
// its warnings and positions, and an engine that uses one after the other decides and counts like one that uses the last.
func TestPrevious(t *testing.T) {
	t.Parallel()
	const names = 6
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		merge := seed%2 == 0
		content := func(file int) []byte {
			domain := file
			if merge {
				domain = file % 3
			}
			text := fmt.Sprintf("domain: d%d\ndescriptors:\n", domain)
			for rule := range random.IntN(3) {
				text += fmt.Sprintf("- key: k%d\n  value: f%d-%d\n  rate_limit: {unit: hour, requests_per_unit: %d, name: n%d, replaces: [{name: n%d}]}\n",
					rule, file, rule, random.IntN(3), random.IntN(4), random.IntN(4)) // of a name that no limit has, or two have, there are warnings
			}
			if random.IntN(8) == 0 {
				text += "- key: ''\n" // a fault
			}
			return []byte(text)
		}
		registry := stats.New(nil)
		engine, err := ratelimit.New(memstore.MustNew(nil), &ratelimit.Options{Stats: registry, TopKeys: true})
		require.NoError(t, err)
		files := map[int][]byte{}
		var last *config.Config
		for step := range 40 {
			if at := random.IntN(names); random.IntN(4) > 0 {
				files[at] = content(at)
			} else {
				delete(files, at)
			}
			var list []config.File
			for i, data := range files {
				list = append(list, config.File{Name: fmt.Sprintf("%d.yaml", i), Data: data})
			}
			anew, err := config.Parse(list, &config.Options{MergeDomains: merge})
			after, again := config.Parse(list, &config.Options{MergeDomains: merge, Previous: last})
			require.Equal(t, err, again, "seed %d, step %d", seed, step)
			if err != nil {
				continue
			}
			require.Equal(t, anew.Files, after.Files)
			require.Equal(t, anew.Domains, after.Domains)
			require.Equal(t, anew.Warnings, after.Warnings, "seed %d, step %d", seed, step)
			require.Equal(t, anew.Ruleset.Limits(), after.Ruleset.Limits())
			last = after
			require.NoError(t, engine.Use(after.Ruleset))
			require.Len(t, registry.Snapshot().Gauges, len(after.Ruleset.Limits()), "of the limits in use")
			for i, l := range after.Ruleset.Limits() {
				_, counts := engine.LimitStats()
				before := counts[i].Load().TotalHits
				d, err := engine.Decide(t.Context(), &ratelimit.Request{Domain: l.Domain, Descriptors: []ratelimit.Descriptor{{Entries: l.Path}}})
				require.NoError(t, err)
				applied, _ := d.Applied(0)
				require.Equal(t, l.Limit.RequestsPerUnit, d.Statuses[0].RequestsPerUnit)
				require.Equal(t, i, applied)
				require.Equal(t, before+1, counts[i].Load().TotalHits)
			}
			for _, k := range engine.TopKeys().Rules {
				require.Equal(t, after.Ruleset.Limits()[k.Limit].Path, k.Path)
			}
		}
		require.NoError(t, engine.Use(nil))
		require.Empty(t, registry.Snapshot().Gauges)
	}
}

// After a change of one file of many, nearly nothing is made anew.
func TestOneOfManyFiles(t *testing.T) {
	var files []config.File
	for f := range 200 {
		text := fmt.Sprintf("domain: d%d\ndescriptors:\n", f)
		for r := range 50 {
			text += fmt.Sprintf("- key: client\n  value: customer-%d\n  rate_limit: {unit: minute, requests_per_unit: %d}\n", r, r+1)
		}
		files = append(files, config.File{Name: fmt.Sprintf("%d.yaml", f), Data: []byte(text)})
	}
	var last *config.Config
	load := func(previous *config.Config) float64 {
		return testing.AllocsPerRun(1, func() {
			c, err := config.Parse(files, &config.Options{Previous: previous})
			require.NoError(t, err)
			last = c
		})
	}
	all := load(nil)
	files[77].Data = append(files[77].Data, "- key: more\n"...)
	one := load(last)
	t.Logf("all %v allocations, one %v", all, one)
	require.Less(t, one, all/30)
}
