package ratelimit

import "unsafe"

// node is a compiled rule: what a match and a decision need of it, on one cache
// line. With thousands of rules it is the lines they touch that decide how long a
// decision takes.
type node struct {
	value string   // as configured
	next  *level   // the nested rules, or nil
	limit *limit   // the rest about the rule's limit, nil without one
	plan  *keyPlan // of the limit's counter keys; nil where keys of entries are patterns

	id       int32 // of the limit: its index in Ruleset.limits
	requests uint32
	unit     Unit
	// What the limit and the rule say about decisions.
	unlimited, shadow, quota bool
	// perRequest says that the statistics key depends on the request's values.
	perRequest bool
	// named says that limit.name is not empty.
	named bool
	// failure is what to do without the store; failUnset for what the engine does.
	failure failure

	_ [7]byte // so that nodes in a slice don't straddle cache lines
}

// limit is what is rarely asked about a rule with a limit.
type limit struct {
	domain   string
	name     string
	nameID   int32   // index of the name in its domain, -1 without one
	replaces []int32 // indices of names
	metric   string  // the statistics key, sanitised; empty if there is none or it depends on the request
	detailed bool
	metadata map[string]any
	path     []pathRule // from the top to the rule itself
}

// pathRule is what a rule contributes to the keys of the limits below it.
type pathRule struct {
	key    string
	value  string
	shared bool // all values that match the wildcard count as one
	// metric is this level's part of the statistics key, unless fromValue says that
	// it is made of the key and the request's value, or the leaf wants details and
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
// configuration order, else the one with the key alone (specification, matching
// rule 3; reference 1.5).
func (l *level) match(e *Entry, scratch *[]byte) *node {
	k := l.find(e.Key)
	if k == nil && l.patterns == nil {
		return nil
	}
	if k != nil {
		if n := k.exact.find(e.Value); n != nil {
			return n
		}
		if k.wild == nil && l.patterns == nil {
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
		byBoth = l.patterns.first(unsafe.String(unsafe.SliceData(b), len(b)))
	}
	switch {
	case byValue == nil && byBoth == nil:
		return nil
	case byBoth == nil || byValue != nil && byValue.order < byBoth.order:
		return byValue.node
	}
	return byBoth.node
}

// match walks down the levels with the entries. There is no way back: where a
// rule matched and the ones below it did not, its siblings are not tried. Only a
// limit at exactly the depth of the last entry counts (matching rule 2).
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
			if n.limit == nil {
				return nil
			}
			return n
		}
		l = n.next
	}
	return nil
}
