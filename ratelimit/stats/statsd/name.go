package statsd

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// maxLabel is how many bytes of a line may be name and tags. What is longer than
// that is left out: it would not fit into a datagram.
const maxLabel = 8 << 10

// withTags is a name as push statistics carry it: with the extra tags among its own,
// and without anything that would end the name or the line. Without extra tags a name
// stays as the registry has it.
func withTags(name string, extra []stats.Tag) string {
	if len(extra) > 0 {
		base, tags := split(name)
		for _, t := range extra {
			own := func(o stats.Tag) bool { return o.Name == t.Name }
			if !slices.ContainsFunc(tags, own) { // what is said closer to the statistic is right
				tags = append(tags, t)
			}
		}
		name = stats.Tagged(base, tags...)
	}
	return clean(name, ":|")
}

// split parts a name from its tags. What a caller's values happen to look like is
// not taken for a tag: those of Tagged have no dots.
func split(name string) (string, []stats.Tag) {
	base, tags := stats.SplitTags(name)
	odd := func(t stats.Tag) bool { return t.Name == "" || strings.Contains(t.Value, ".") }
	if base == "" || slices.ContainsFunc(tags, odd) {
		return name, nil
	}
	return base, tags
}

// clean replaces the characters of bad, and those that control terminals and lines,
// by "_". The reference service lets the latter pass; a client could write lines of its
// own with them.
func clean(s, bad string) string {
	isBad := func(c byte) bool { return c < ' ' || c == 0x7f || strings.IndexByte(bad, c) >= 0 }
	for i := range len(s) {
		if !isBad(s[i]) {
			continue
		}
		b := []byte(s)
		for ; i < len(b); i++ {
			if isBad(b[i]) {
				b[i] = '_'
			}
		}
		return string(b)
	}
	return s
}
