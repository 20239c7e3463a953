package ratelimit

import "unsafe"

// node is a compiled rule.
type node struct {
	next  *level // the nested rules, or nil
	limit *limit // what an entry that ends here is held to, or nil

	key    string // the rule's own
	value  string
	shared bool // all values that match the wildcard count as one
	// metric is this level's part of the statistics key, unless fromValue says that
	// it is made of the key and the request's value, or the leaf wants details and
	// the rule is shared: then it is sharedMetric.
	metric       string
	fromValue    bool
	sharedMetric string
}

// limit is a compiled Limit together with what its rule says about it.
type limit struct {
	id        int // index in Ruleset.limits
	domain    string
	requests  uint32
	unit      Unit
	unlimited bool
	shadow    bool
	quota     bool
	detailed  bool
	// perRequest says that the statistics key depends on the request's values.
	perRequest bool
	name       string
	nameID     int32   // index of the name in its domain, -1 without one
	replaces   []int32 // indices of names
	metric     string  // the statistics key, sanitised, if not perRequest
	metadata   map[string]any
	path       []*node // from the top to the rule itself
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
	exact map[string]*node // by value
	wild  *globIndex       // values with a star
	any   *node            // no value
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
	if k != nil && k.exact != nil {
		if n := k.exact[e.Value]; n != nil {
			return n
		}
	}
	if n := l.matchWild(k, e, scratch); n != nil {
		return n
	}
	if k != nil {
		return k.any
	}
	return nil
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
func (d *domain) match(entries []Entry, scratch *[]byte) *limit {
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
			return n.limit
		}
		l = n.next
	}
	return nil
}
