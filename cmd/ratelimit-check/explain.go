package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

// explainAll returns one explanation per domain: the descriptors of -explain flags with the
// same domain form one request.
func explainAll(s *settings, c *config.Config) ([]*explain.Explanation, error) {
	var out []*explain.Explanation
	opts := &explain.Options{Now: s.at, CounterKeyPrefix: s.prefix, CounterKeyFormat: ratelimit.KeyFormat(s.keyFormat)}
	for _, request := range requests(s.explains) {
		x, err := explain.Decision(c.Ruleset, request, opts)
		if err != nil {
			return nil, fmt.Errorf("-explain %s: %w", request.Domain, err)
		}
		for i := range x.Descriptors {
			addPositions(x.Descriptors[i].Levels, topLevels(x.Domain, c))
		}
		out = append(out, x)
	}
	return out, nil
}

func requests(explains []explainFlag) []*ratelimit.Request {
	var out []*ratelimit.Request
	for _, q := range explains {
		at := slices.IndexFunc(out, func(r *ratelimit.Request) bool { return r.Domain == q.domain })
		if at < 0 {
			at = len(out)
			out = append(out, &ratelimit.Request{Domain: q.domain})
		}
		out[at].Descriptors = append(out[at].Descriptors, q.descriptor)
	}
	return out
}

// locatedRules is a list of rules with its file and path.
type locatedRules struct {
	file  string
	path  []string
	rules []ratelimit.Rule
}

// topLevels returns the top levels of a domain, one for each file that configures it.
func topLevels(domain string, c *config.Config) []locatedRules {
	var out []locatedRules
	for i := range c.Domains {
		if d := &c.Domains[i]; d.Name == domain {
			out = append(out, locatedRules{file: c.Files[i], rules: d.Rules})
		}
	}
	return out
}

// addPositions sets the positions of the rules that were tried.
func addPositions(levels []explain.Level, at []locatedRules) {
	for i := range levels {
		var next []locatedRules
		for j := range levels[i].Tried {
			a := &levels[i].Tried[j]
			below, found := find(at, a.Key, a.Value)
			if !a.Configured || !found {
				continue
			}
			a.Position = below.file + " " + strings.Join(below.path, ".")
			if a.Matched {
				next = []locatedRules{below}
			}
		}
		at = next
	}
}

// find returns the rules nested in the only rule with that key and value.
func find(in []locatedRules, key, value string) (below locatedRules, found bool) {
	for _, s := range in {
		for i := range s.rules {
			if r := &s.rules[i]; r.Key == key && r.Value == value {
				path := append(slices.Clone(s.path), fmt.Sprintf("descriptors[%d]", i))
				return locatedRules{s.file, path, r.Rules}, true
			}
		}
	}
	return locatedRules{}, false
}
