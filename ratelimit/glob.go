package ratelimit

import "strings"

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
