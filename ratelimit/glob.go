package ratelimit

import (
	"math"
	"slices"
	"strings"
)

// glob is a pattern in which "*" stands for zero or more bytes.
type glob struct {
	pattern string
	prefix  string   // before the first star
	middle  []string // between stars, in order, none empty
	suffix  string   // after the last star
}

func isGlob(s string) bool { return strings.Contains(s, "*") }

func parseGlob(pattern string) glob {
	parts := strings.Split(pattern, "*")
	g := glob{pattern: pattern, prefix: parts[0], suffix: parts[len(parts)-1]}
	for _, p := range parts[1 : len(parts)-1] {
		if p != "" {
			g.middle = append(g.middle, p)
		}
	}
	return g
}

// match needs no backtracking: taking each middle part at its first place leaves
// the most room for the parts behind it.
func (g *glob) match(s string) bool {
	if len(s) < len(g.prefix)+len(g.suffix) || !strings.HasPrefix(s, g.prefix) || !strings.HasSuffix(s, g.suffix) {
		return false
	}
	s = s[len(g.prefix) : len(s)-len(g.suffix)]
	for _, m := range g.middle {
		i := strings.Index(s, m)
		if i < 0 {
			return false
		}
		s = s[i+len(m):]
	}
	return true
}

// covers reports whether g matches all that h matches. The literal parts of g
// hold no star, so a star of h can only be swallowed by a star of g, and it is
// enough to match h's own text.
func (g *glob) covers(h *glob) bool { return g.match(h.pattern) }

// overlaps reports whether some string matches both. With a star in each, that
// is so exactly when their ends agree: put the longer prefix first, the middle
// parts of both behind it, and the longer suffix last.
func (g *glob) overlaps(h *glob) bool {
	return (strings.HasPrefix(g.prefix, h.prefix) || strings.HasPrefix(h.prefix, g.prefix)) &&
		(strings.HasSuffix(g.suffix, h.suffix) || strings.HasSuffix(h.suffix, g.suffix))
}

// globIndex finds the first of many patterns, in configuration order, that
// matches a string. Few patterns are tried one by one. With many, each is filed
// under one literal that any match must hold: its prefix, its suffix or a part
// in between, whichever the fewest other patterns share. A lookup then tries only the
// patterns whose literal the string contains.
type globIndex struct {
	globs []globRule
	// These hold indices into globs. All are empty while the index is small.
	prefixes, suffixes, infixes literalFile
	loose                       []int32 // patterns of stars only
}

type globRule struct {
	glob
	order int // place among all rules of the level
	node  *node
}

const (
	// Up to this many patterns a plain scan is faster than hashing.
	scanGlobs = 8
	// A lookup of infixes hashes at every place of the string, once per length:
	// short literals keep the number of lengths small and still tell patterns apart.
	maxInfix = 6
	// In longer strings, which a client may make of one literal over and over, the
	// patterns with infixes are tried one by one.
	maxHashed = 1 << 10
	noIndex   = int32(math.MaxInt32)
)

func newGlobIndex(globs []globRule) *globIndex {
	x := &globIndex{globs: globs}
	if len(globs) <= scanGlobs {
		return x
	}
	x.file()
	return x
}

// first returns the first pattern that matches s, or nil.
func (x *globIndex) first(s string) *globRule {
	if x == nil {
		return nil
	}
	if len(x.globs) <= scanGlobs {
		for i := range x.globs {
			if x.globs[i].match(s) {
				return &x.globs[i]
			}
		}
		return nil
	}
	best := x.firstOf(x.loose, s, noIndex)
	best = x.prefixes.first(x, s, best, atStart)
	best = x.suffixes.first(x, s, best, atEnd)
	best = x.infixes.firstAnywhere(x, s, best)
	if best == noIndex {
		return nil
	}
	return &x.globs[best]
}

// firstOf returns the first of the candidates, which are in ascending order, that
// comes before best and matches s, or best.
func (x *globIndex) firstOf(candidates []int32, s string, best int32) int32 {
	for _, i := range candidates {
		if i >= best {
			break
		}
		if x.globs[i].match(s) {
			return i
		}
	}
	return best
}

// file indexes every pattern by its rarest literal.
func (x *globIndex) file() {
	prefixes, suffixes, infixes := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range x.globs {
		g := &x.globs[i]
		prefixes[g.prefix]++
		suffixes[g.suffix]++
		for _, m := range g.middle {
			infixes[short(m)]++
		}
	}
	for i := range x.globs {
		g := &x.globs[i]
		to, literal, rarest := (*literalFile)(nil), "", math.MaxInt
		consider := func(f *literalFile, l string, shared int) {
			if l != "" && shared < rarest {
				to, literal, rarest = f, l, shared
			}
		}
		consider(&x.prefixes, g.prefix, prefixes[g.prefix])
		consider(&x.suffixes, g.suffix, suffixes[g.suffix])
		for _, m := range g.middle {
			consider(&x.infixes, short(m), infixes[short(m)])
		}
		if to == nil {
			x.loose = append(x.loose, int32(i))
			continue
		}
		to.add(literal, int32(i))
	}
}

func short(literal string) string { return literal[:min(len(literal), maxInfix)] }

// literalFile finds patterns by a literal: one hash lookup for each length that
// occurs, at the places where it may stand.
type literalFile struct {
	lengths []int
	globs   map[string][]int32
	all     []int32
}

func (f *literalFile) add(literal string, glob int32) {
	if f.globs == nil {
		f.globs = make(map[string][]int32)
	}
	f.globs[literal] = append(f.globs[literal], glob)
	f.all = append(f.all, glob)
	if i, found := slices.BinarySearch(f.lengths, len(literal)); !found {
		f.lengths = slices.Insert(f.lengths, i, len(literal))
	}
}

type anchor uint8

const (
	atStart anchor = iota
	atEnd
)

func (f *literalFile) first(x *globIndex, s string, best int32, where anchor) int32 {
	for _, n := range f.lengths {
		if n > len(s) {
			break
		}
		switch where {
		case atStart:
			best = x.firstOf(f.globs[s[:n]], s, best)
		case atEnd:
			best = x.firstOf(f.globs[s[len(s)-n:]], s, best)
		}
	}
	return best
}

// firstAnywhere tries the patterns of a literal where it stands first, and not
// again at every other place: that could take the square of the string's length.
func (f *literalFile) firstAnywhere(x *globIndex, s string, best int32) int32 {
	if len(s) > maxHashed {
		return x.firstOf(f.all, s, best)
	}
	for _, n := range f.lengths {
		for i := 0; i+n <= len(s); i++ {
			globs := f.globs[s[i:i+n]]
			if globs != nil && strings.Index(s, s[i:i+n]) == i {
				best = x.firstOf(globs, s, best)
			}
		}
	}
	return best
}
