package ratelimit

// Ruleset is what [Compile] makes of domains: checked, immutable and fast to
// match against. It may be shared by any number of engines.
type Ruleset struct {
	domains  map[string]*domain
	only     *domain             // if there is just one
	limits   []*limit            // by limit.id
	plans    map[string]*keyPlan // by keyPlan.id
	warnings []*Fault
}

type domain struct {
	name string
	top  *level
	// names are those of the domain's limits; limits speak of them by index.
	names []string
	// replaces says that some limit replaces another, so that a request has to be
	// looked at as a whole.
	replaces bool
}

// domain returns nil for one that is not configured.
func (r *Ruleset) domain(name string) *domain {
	if d := r.only; d != nil && d.name == name {
		return d
	}
	return r.domains[name]
}

// plan returns the same plan for limits whose keys are made in the same way.
func (r *Ruleset) plan(p *keyPlan) *keyPlan {
	if p == nil {
		return nil
	}
	id := p.id()
	if same := r.plans[id]; same != nil {
		return same
	}
	r.plans[id] = p
	return p
}

// Len is the number of domains.
func (r *Ruleset) Len() int { return len(r.domains) }

// Has reports whether the domain is configured.
func (r *Ruleset) Has(domain string) bool { return r.domains[domain] != nil }

// Warnings is what Compile let pass although it is hardly meant: names that
// replace nothing, names used twice, rules that can't be reached, wildcards that
// overlap. They come in the order of the input.
func (r *Ruleset) Warnings() []*Fault { return r.warnings }
