package ratelimit

import (
	"hash/maphash"
	"strings"
	"unsafe"
)

// Ruleset is the result of [Compile]: validated, immutable and indexed for matching. Any
// number of engines may share it.
type Ruleset struct {
	domains  map[string]*placed
	only     *placed  // if there is just one
	limits   []*limit // those of the domains, one after the other
	warnings []*Fault
	fields   []Field
	source   []Domain
	months   bool // CompileOptions.CalendarMonths
}

// domain is a compiled domain. Rulesets that are compiled one after the other share those that stay the same.
type domain struct {
	name string
	top  *level
	// replaces reports that some limit replaces another.
	replaces bool
	limits   []*limit // by node.id
	inputs   []input  // what it was compiled from
	warnings []*Fault // by the positions of inputs
}

// placed is a domain of a Ruleset.
type placed struct {
	*domain
	first int // the index of its first limit in Ruleset.limits
}

// domain returns nil for one that is not configured.
func (r *Ruleset) domain(name string) *placed {
	if d := r.only; d != nil && d.name == name {
		return d
	}
	return r.domains[name]
}

// Len returns the number of domains.
func (r *Ruleset) Len() int { return len(r.domains) }

// Has reports whether the domain is configured.
func (r *Ruleset) Has(domain string) bool { return r.domains[domain] != nil }

// Warnings returns likely mistakes: names that replace nothing, duplicate names,
// unreachable rules, overlapping wildcards. They are in the order of the input.
func (r *Ruleset) Warnings() []*Fault { return r.warnings }

// node is a compiled rule, with what a match and a decision need in one cache line: 64 bytes, so that
// nodes in a slice do not straddle two. With thousands of rules, the number of cache lines determines
// how long a decision takes.
type node struct {
	value string   // as configured
	next  *level   // the nested rules, or nil
	limit *limit   // the rest
	plan  *keyPlan // of the limit's counter keys; nil where keys of entries are patterns

	id       int32 // of the limit: its index in domain.limits
	requests uint32
	unit     Unit
	// Properties of the limit and the rule. limited reports whether there is a limit.
	limited, unlimited, shadow, quota bool
	// perRequest reports whether the statistics key depends on the request's values.
	perRequest bool
	// named reports whether the limit has a name.
	named bool
	// fixed reports whether all counters of the limit follow from the rules alone.
	fixed bool
	// periodic reports whether limit.period is set.
	periodic bool
	// charging reports whether limit.charge is set.
	charging bool
	// candidate reports whether the limit has a Candidate.
	candidate bool
	// lease is Limit.Lease.
	lease bool
	// plain reports whether the rule has a limit of a unit's FixedWindow or of another Algorithm,
	// whose statistics key and plan are known, and no candidate.
	plain bool
}

// limit holds the rarely used part of a rule. Without a limit, only rule is set.
type limit struct {
	rule      *Rule // as configured
	domain    string
	metric    string       // the statistics key, sanitised; empty if there is none or it depends on the request
	path      []pathRule   // from the top to the rule itself
	period    *period      // nil for windows of a unit
	charge    *chargeLimit // nil for a FixedWindow
	candidate *chargeLimit // nil for a FixedWindow, and without a candidate
}

// entries returns the keys and values of the rules from the top to the limit.
func (l *limit) entries() []Entry {
	path := make([]Entry, len(l.path))
	for i := range path {
		path[i] = Entry{Key: l.path[i].key, Value: l.path[i].value}
	}
	return path
}

// pathRule holds what a rule contributes to the keys of the limits below it.
type pathRule struct {
	key    string
	value  string
	shared bool // all values that match the wildcard count as one
	// metric is this level's part of the statistics key, unless fromValue is set and
	// it consists of the key and the request's value, or the leaf wants details and
	// the rule is shared: then it is sharedMetric.
	metric       string
	fromValue    bool
	sharedMetric string
}

// level is the set of rules that an entry is compared with at one depth.
type level struct {
	few      []*keyRules          // in configuration order; nil if there are many
	many     map[string]*keyRules // by key
	patterns *globIndex           // rules with a star in the key, against key_value
}

// keyRules are the rules of one level that have one key in common.
type keyRules struct {
	key   string
	exact valueIndex // by value
	wild  *globIndex // values with a star
	any   *node      // no value
	// values and patterns report whether there are rules with values, and whether there are with a
	// star in the value, or in a key of the level.
	values, patterns bool
}

// Up to this many keys, comparing them is faster than hashing.
const fewKeys = 4

func (l *level) find(key string) *keyRules {
	if l.many != nil {
		return l.many[key]
	}
	for _, k := range l.few {
		if k.key == key {
			return k
		}
	}
	return nil
}

// match picks the rule for one entry: the exact one, else the first wildcard in
// configuration order, else the one with the key alone (REFERENCE.md, 2.1).
func (l *level) match(e *Entry, scratch *[]byte) *node {
	k := l.find(e.Key)
	if k == nil && l.patterns == nil {
		return nil
	}
	if k != nil {
		if k.values {
			if n := k.exact.find(e.Value); n != nil {
				return n
			}
		}
		if !k.patterns {
			return k.any
		}
	}
	if n := l.matchWild(k, e, scratch); n != nil || k == nil {
		return n
	}
	return k.any
}

func (l *level) matchWild(k *keyRules, e *Entry, scratch *[]byte) *node {
	var byValue, byBoth *globRule
	if k != nil {
		byValue = k.wild.first(e.Value)
	}
	if l.patterns != nil {
		b := append((*scratch)[:0], e.Key...)
		b = append(b, '_')
		b = append(b, e.Value...)
		*scratch = b
		// #nosec G103 -- first does not keep the string
		byBoth = l.patterns.first(unsafe.String(unsafe.SliceData(b), len(b)))
	}
	switch {
	case byValue == nil && byBoth == nil:
		return nil
	case byBoth == nil || byValue != nil && byValue.order < byBoth.order:
		return &byValue.node
	}
	return &byBoth.node
}

// match descends the levels with the entries and never goes back: where a rule matched and
// its nested rules do not, its siblings are not tried. Only a limit at exactly the depth of
// the last entry counts (REFERENCE.md, 2.1).
func (d *domain) match(entries []Entry, scratch *[]byte) *node {
	l := d.top
	for i := range entries {
		if l == nil {
			return nil
		}
		n := l.match(&entries[i], scratch)
		if n == nil {
			return nil
		}
		if i == len(entries)-1 {
			if !n.limited {
				return nil
			}
			return n
		}
		l = n.next
	}
	return nil
}

// valueIndex finds a node by its exact value. It touches two cache lines where a map touches
// four: a slot of eight bytes, and the node, which lies beside its siblings, as do the bytes
// of their values.
type valueIndex struct {
	nodes []node
	slots []uint64 // upper half of the hash, and index in nodes + 1; 0 is empty
	seed  maphash.Seed
}

// Up to this many values, comparing them is faster than hashing.
const fewValues = 4

// newValueIndex indexes nodes with different values, and moves the values together.
func newValueIndex(nodes []node) valueIndex {
	x := valueIndex{nodes: nodes}
	var all strings.Builder
	for i := range nodes {
		all.WriteString(nodes[i].value)
	}
	rest := all.String()
	for i := range nodes {
		n := len(nodes[i].value)
		nodes[i].value, rest = rest[:n], rest[n:]
	}
	if len(nodes) <= fewValues {
		return x
	}
	x.slots, x.seed = newSlots(len(nodes)), maphash.MakeSeed()
	mask := uint64(len(x.slots) - 1)
	for i := range nodes {
		hash := maphash.String(x.seed, nodes[i].value)
		at := hash & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = hash>>32<<32 | uint64(i+1)
	}
	return x
}

// newSlots returns the slots of a hash table for n entries: a power of two, at most two thirds full.
func newSlots(n int) []uint64 {
	size := 8
	for 2*size < 3*n {
		size *= 2
	}
	return make([]uint64, size)
}

func (x *valueIndex) find(value string) *node {
	if x.slots == nil {
		for i := range x.nodes {
			if x.nodes[i].value == value {
				return &x.nodes[i]
			}
		}
		return nil
	}
	hash := maphash.String(x.seed, value)
	mask := uint64(len(x.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return nil
		}
		if slot>>32 == hash>>32 {
			if n := &x.nodes[uint32(slot)-1]; n.value == value {
				return n
			}
		}
	}
}
