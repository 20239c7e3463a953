package manifest

import "strings"

// defaultIsChoice warns of a default that the user could not pick. It repeats
// neither: the input may be a secret.
func (v *validator) defaultIsChoice(n *Node) {
	preset, choices := n.Get("default"), n.Get("choices")
	if preset == nil || choices == nil || preset.Kind != KindString || len(choices.Elements) == 0 {
		return
	}
	for i := range choices.Elements {
		if choices.Elements[i].Text == preset.Text {
			return
		}
	}
	v.trail.key("default")
	v.warn(RuleDefaultChoice, preset, "%s is not one of the choices", v.trail.subject()).suggest("add it to the choices, or pick another")
	v.trail.pop()
}

// headerLine warns of a line break in a header's value, which can't be sent.
func (v *validator) headerLine(n *Node) {
	for _, key := range [...]string{"value", "default"} {
		if text := n.Get(key); strings.ContainsAny(stringOf(text), "\r\n\x00") {
			v.trail.key(key)
			v.warn(RuleLineBreak, text, "%s has a line break, which a header cannot have", v.trail.subject()).suggest("write it on one line")
			v.trail.pop()
		}
	}
}

// duplicateNames warns of names that occur twice in a list of variables or headers:
// only one of them can have an effect.
func (v *validator) duplicateNames(l *Node, key string) {
	if l == nil || l.Kind != KindArray {
		return
	}
	seen := make(map[string]bool, len(l.Elements))
	for i := range l.Elements {
		n := l.Elements[i].Get("name")
		name := stringOf(n)
		if name != "" && seen[name] {
			v.trail.key(key)
			v.trail.index(i)
			v.trail.key("name")
			v.warn(RuleDuplicateName, n, "the name %s is in this list twice", show(name)).suggest("keep one of them")
			v.trail = v.trail[:len(v.trail)-3]
		}
		seen[name] = true
	}
}

// nameParts looks closer at a name that has the right form.
func (v *validator) nameParts(n *Node, space, name string) {
	if strings.Trim(space, ".") == "" || strings.Trim(name, ".") == "" {
		severity, rule := Warning, RuleDotSegment
		if v.registry {
			severity, rule = Error, RuleNameParts
		}
		v.report(severity, rule, n, "name is %s, of which a part consists of dots and could be taken for a directory", show(n.Text)).
			suggest("use letters and digits")
		return
	}
	if v.registry && !(isRegistryPart(space) && isRegistryPart(name)) {
		v.fault(RuleNameParts, n, "name is %s, and a part of it is shorter than two characters or begins or ends with punctuation", show(n.Text)).
			suggest("begin and end both parts with a letter or digit")
		return
	}
	v.placeholder(n)
}
