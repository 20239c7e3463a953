package xds

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// TypeURL is the type of the resources that the client asks for (specification,
// "Versioning" 2).
const TypeURL = "type.googleapis.com/" + typeName

const typeName = "ratelimit.config.ratelimit.v3.RateLimitConfig"

// Update is the whole configuration, as the server sent it. Nothing in it may be
// changed.
type Update struct {
	// Version is what the server calls it. It is for people: nothing follows from an
	// order of versions, or from their being equal.
	Version string
	// Ruleset is what an engine uses.
	Ruleset *ratelimit.Ruleset
	// Domains is what Ruleset was compiled from, one for each of Resources.
	Domains []ratelimit.Domain
	// Resources are the names of the resources, sorted.
	Resources []string
	// Warnings are what was accepted but is hardly meant, in the order of Faults.
	Warnings []*Fault
}

// Parse makes an Update, without a Version, of the resources of a response. Of opts
// it needs MergeDomains only. The error is [Faults]. No resources at all make an
// empty Update.
//
// A [Client] does this by itself; Parse is for tests of a control plane.
func Parse(resources []*anypb.Any, opts *Options) (*Update, error) {
	d := &decoder{resources: decodeAll(resources)}
	u := &Update{}
	for i := range d.resources {
		d.source = i
		u.Domains = append(u.Domains, d.domain(&d.resources[i]))
		u.Resources = append(u.Resources, d.resources[i].name)
	}
	if len(d.faults) < tooMany {
		u.Ruleset = d.compile(u.Domains, opts != nil && opts.MergeDomains)
	}
	if len(d.faults) > 0 {
		return nil, Faults(report(d.resources, d.faults))
	}
	u.Warnings = report(d.resources, append(d.warnings, translate(d.resources, u.Ruleset.Warnings())...))
	return u, nil
}

// decodeAll decodes resources and sorts them by name.
func decodeAll(in []*anypb.Any) []resource {
	out := make([]resource, len(in))
	for i := range in {
		out[i] = decode(i, in[i])
	}
	slices.SortStableFunc(out, func(a, b resource) int {
		return cmp.Or(strings.Compare(a.name, b.name), bytes.Compare(a.data, b.data))
	})
	return out
}

// compile adds what Compile has against the domains, but for echoes: of a resource
// that could not be decoded, and of a place that has a fault already.
func (d *decoder) compile(domains []ratelimit.Domain, merge bool) *ratelimit.Ruleset {
	rules, err := ratelimit.Compile(domains, &ratelimit.CompileOptions{MergeDomains: merge})
	var compiled ratelimit.Faults
	if !errors.As(err, &compiled) {
		return rules
	}
	known := make(map[string]bool, len(d.faults))
	for i := range d.faults {
		known[d.faults[i].place()] = true
	}
	for _, f := range translate(d.resources, compiled) {
		if d.resources[f.source].config != nil && !known[f.place()] {
			d.faults = append(d.faults, f)
		}
	}
	return nil
}
