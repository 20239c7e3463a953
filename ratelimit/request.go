package ratelimit

// Request asks for one decision: which domain's rules apply, and what to match
// them with. The engine keeps no reference to it.
type Request struct {
	Domain      string       // required
	Descriptors []Descriptor // at least one
	// HitsAddend is how many hits each descriptor without one of its own counts
	// for. 0 means 1.
	HitsAddend uint32
}

// Descriptor is one line of key/value pairs. It is held to the limit of the rule
// that its entries lead to, if the last entry ends on a rule with a limit.
type Descriptor struct {
	Entries []Entry
	// Limit overrides the rules; nil leaves the decision to them. It takes effect
	// only in a domain that has been configured.
	Limit *Override
	// HitsAddend is how many hits this descriptor counts for; nil leaves that to
	// the request. 0 asks without counting: a peek.
	HitsAddend *uint64
}

// Entry is one key/value pair.
type Entry struct {
	Key   string
	Value string
}

// Override is a limit that comes with the request.
type Override struct {
	RequestsPerUnit uint32
	Unit            Unit
}
