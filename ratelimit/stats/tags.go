package stats

import (
	"slices"
	"strings"
)

// Tag is a name and a value that qualify a statistic.
type Tag struct{ Name, Value string }

// Tagged returns a name with tags: "<name>.__<tag>=<value>", with one such suffix for
// each tag, sorted by tag name. Characters that would break the name or the push
// protocol become "_": ".", ":", "|" and control characters in values, and "=" too in
// tag names (REFERENCE.md, 5.1).
func Tagged(name string, tags ...Tag) string {
	if len(tags) == 0 {
		return name
	}
	sorted := slices.SortedStableFunc(slices.Values(tags), func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(name)
	for _, t := range sorted {
		b.WriteString(tagPrefix)
		writeClean(&b, t.Name, ".:|=")
		b.WriteByte('=')
		writeClean(&b, t.Value, ".:|")
	}
	return b.String()
}

const tagPrefix = ".__"

func writeClean(b *strings.Builder, s, bad string) {
	for i := range len(s) {
		if strings.IndexByte(bad, s[i]) >= 0 || s[i] < ' ' {
			b.WriteByte('_')
			continue
		}
		b.WriteByte(s[i])
	}
}

// SplitTags is the inverse of Tagged: it returns the name without its tags, and the
// tags. If a part after ".__" has no "=", the whole name is returned without tags.
func SplitTags(name string) (string, []Tag) {
	at := strings.Index(name, tagPrefix)
	if at < 0 {
		return name, nil
	}
	var tags []Tag
	for _, part := range strings.Split(name[at+len(tagPrefix):], tagPrefix) {
		tag, value, ok := strings.Cut(part, "=")
		if !ok {
			return name, nil
		}
		tags = append(tags, Tag{tag, value})
	}
	return name[:at], tags
}
