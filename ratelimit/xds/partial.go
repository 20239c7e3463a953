package xds

import (
	"errors"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// partial converts a response of which some resources may have faults. Each of those is
// replaced by the last resource with its name that could be used, or left out. A resource
// that can't be decoded may be any, so those that are missing from the response stay too.
// The error is config.Faults if the response has no resource that can be used. use are the
// resources of the Update.
func (r *run) partial(in *discoveryv3.DiscoveryResponse) (u *Update, use []resource, err error) {
	use = decode(in.GetResources())
	var all config.Faults
	for {
		u, faulty, err := parse(use, &r.opts, false)
		faults, ok := errors.AsType[config.Faults](err)
		switch all = append(all, faults...); {
		case ok:
			if use = r.replace(use, faulty); !slices.ContainsFunc(use, func(r resource) bool { return !r.kept }) {
				return nil, nil, all
			}
		case err != nil:
			return nil, nil, err
		default:
			u.Faults = all[:min(len(all), maxFaults)]
			for i := range use {
				use[i].kept = true
			}
			return u, use, nil
		}
	}
}

// replace removes faulty resources and adds those in use for them, unless another resource
// configures the same domain.
func (r *run) replace(use, faulty []resource) []resource {
	anyUnknown := false
	wanted := make(map[string]bool, len(faulty))
	for i := range faulty {
		f := &faulty[i]
		if !f.kept {
			wanted[f.key()] = true
			anyUnknown = anyUnknown || f.key() == ""
		}
		at := slices.IndexFunc(use, func(u resource) bool { return u.name == f.name && u.config == f.config })
		use = slices.Delete(slices.Clone(use), at, at+1)
	}
	present, domains := make(map[string]bool), make(map[string]bool)
	for i := range use {
		present[use[i].key()] = true
		domains[use[i].config.GetDomain()] = true
	}
	for _, old := range r.inUse {
		configured := domains[old.config.GetDomain()] && !r.opts.MergeDomains
		if key := old.key(); !present[key] && !configured && (wanted[key] || anyUnknown) {
			use = append(use, old)
		}
	}
	return use
}
