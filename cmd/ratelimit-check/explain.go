package main

import (
	"fmt"
	"slices"

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
		positions := positionsOf(x.Domain, c)
		for i := range x.Descriptors {
			addPositions(x.Descriptors[i].Levels, positions)
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

// positionsOf returns the file and path of each rule of a domain, by its name.
func positionsOf(domain string, c *config.Config) map[string]string {
	all := map[string]string{}
	var add func(above, at string, rules []ratelimit.Rule)
	add = func(above, at string, rules []ratelimit.Rule) {
		for i := range rules {
			name, position := ruleName(above, rules[i].Key, rules[i].Value), fmt.Sprintf("%sdescriptors[%d]", at, i)
			all[name] = position
			add(name, position+".", rules[i].Rules)
		}
	}
	for i := range c.Domains {
		if d := &c.Domains[i]; d.Name == domain {
			add("", c.Files[i]+" ", d.Rules)
		}
	}
	return all
}

// ruleName identifies a rule below another one.
func ruleName(above, key, value string) string { return fmt.Sprintf("%s%q%q", above, key, value) }

// addPositions sets the positions of the rules that were tried.
func addPositions(levels []explain.Level, positions map[string]string) {
	above := ""
	for i := range levels {
		tried := levels[i].Tried
		for j := range tried {
			if tried[j].Configured {
				tried[j].Position = positions[ruleName(above, tried[j].Key, tried[j].Value)]
			}
		}
		if match := levels[i].Match(); match != nil {
			above = ruleName(above, match.Key, match.Value)
		}
	}
}
