package manifest

import (
	"fmt"
	"strings"
)

// marks enclose the name of what a release fills in. Those of which either may
// occur in other text enclose capitals only.
var marks = [...]struct {
	open, end string
	capitals  bool
}{
	{"{{", "}}", false},
	{"${", "}", false},
	{"<<", ">>", false},
	{"<%", "%>", false},
	{"#{", "}", false},
	{"__", "__", true},
	{"@", "@", true},
	{"%", "%", true},
}

// findPlaceholder returns the first placeholder of a release template in s, such
// as {{VERSION}}, or "".
func findPlaceholder(s string) string {
	if !strings.ContainsAny(s, "{<_@%") {
		return ""
	}
	for _, m := range marks {
		_, after, ok := strings.Cut(s, m.open)
		if !ok {
			continue
		}
		name, _, ok := strings.Cut(after, m.end)
		if ok && isPlaceholderName(strings.Trim(name, " =-"), m.capitals) {
			return m.open + name + m.end
		}
	}
	return ""
}

func isPlaceholderName(s string, capitals bool) bool {
	return s != "" && len(s) <= maxKey && isLetter(s[0]) && only(s, "_.- ") && (!capitals || s == strings.ToUpper(s))
}

// placeholder warns of a text that is fine and holds what a release would have
// filled in.
func (v *validator) placeholder(n *Node) {
	if p := findPlaceholder(n.Text); p != "" {
		v.warn(RulePlaceholder, n, "%s has the placeholder %s of a release template", v.trail.subject(), show(p)).
			suggest("fill it in before the manifest is used")
	}
}

// hintPlaceholder suggests to fill in a placeholder if that is why a text is not
// valid, else what the format says.
func (v *validator) hintPlaceholder(p *Problem, n *Node, format string, args ...any) {
	if found := findPlaceholder(n.Text); found != "" {
		format, args = "%s", []any{fmt.Sprintf("%s is a placeholder of a release template: fill it in first", show(found))}
	}
	p.suggest(format, args...)
}
