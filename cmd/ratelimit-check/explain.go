package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

// explain answers the questions: one explanation for each domain, as the descriptors
// that are asked about in one domain are taken for those of one request.
func explainAll(s *settings, c *config.Config, src *sources) ([]*explain.Explanation, error) {
	var out []*explain.Explanation
	opts := &explain.Options{Now: s.at, CounterKeyPrefix: s.prefix}
	for _, request := range requests(s.questions) {
		x, err := explain.Decision(c.Ruleset, request, opts)
		if err != nil {
			return nil, fmt.Errorf("-explain %s: %w", request.Domain, err)
		}
		for i := range x.Descriptors {
			addPlaces(x.Descriptors[i].Levels, shelves(x.Domain, c, src))
		}
		out = append(out, x)
	}
	return out, nil
}

func requests(questions []question) []*ratelimit.Request {
	var out []*ratelimit.Request
	for _, q := range questions {
		at := slices.IndexFunc(out, func(r *ratelimit.Request) bool { return r.Domain == q.domain })
		if at < 0 {
			at = len(out)
			out = append(out, &ratelimit.Request{Domain: q.domain})
		}
		out[at].Descriptors = append(out[at].Descriptors, q.descriptor)
	}
	return out
}

// shelf is a list of rules and where it stands.
type shelf struct {
	file  string
	path  []string
	rules []ratelimit.Rule
}

// shelves are the top levels of a domain: one for each file that describes it.
func shelves(domain string, c *config.Config, src *sources) []shelf {
	var out []shelf
	for i := range c.Domains {
		if d := &c.Domains[i]; d.Name == domain {
			file, _ := src.find(c.Files[i])
			out = append(out, shelf{file: file, rules: d.Rules})
		}
	}
	return out
}

// addPlaces says where the rules stand that were tried.
func addPlaces(levels []explain.Level, at []shelf) {
	for i := range levels {
		var next []shelf
		for j := range levels[i].Tried {
			a := &levels[i].Tried[j]
			below, found := find(at, a.Key, a.Value)
			if !a.Configured || !found {
				continue
			}
			a.Place = below.file + " " + strings.Join(below.path, ".")
			if a.Matched {
				next = []shelf{below}
			}
		}
		at = next
	}
}

// find returns what is below the rule with that key and value, which is the only one.
func find(in []shelf, key, value string) (below shelf, found bool) {
	for _, s := range in {
		for i := range s.rules {
			if r := &s.rules[i]; r.Key == key && r.Value == value {
				path := append(slices.Clone(s.path), fmt.Sprintf("descriptors[%d]", i))
				return shelf{s.file, path, r.Rules}, true
			}
		}
	}
	return shelf{}, false
}
