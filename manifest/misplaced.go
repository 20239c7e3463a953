package manifest

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// rootKeys warns about keys of a package at the root, where they have no effect. The fix moves one into the only package.
func (v *validator) rootKeys(root *Node) {
	packages := root.Get("packages")
	for i := range root.Members {
		m := &root.Members[i]
		name := m.Key
		if now := newNames[name]; now != "" {
			name = now
		}
		if m.Shadowed || packageShape.find(name) < 0 || serverShape.find(name) >= 0 {
			continue
		}
		v.at(m.Key, func() {
			p := v.warn(ruleRootKey, keyNode(m), "%s is a key of a package and has no effect here", jsonpos.Quote(m.Key))
			switch {
			case packages == nil || len(packages.Elements) == 0 || packages.Elements[0].Kind != KindObject:
				p.suggest("move it into an element of packages")
			case slices.ContainsFunc(packages.Elements, func(e Node) bool { return e.Get(name) == nil && e.Get(m.Key) == nil }):
				p.suggest("move it into the package")
				if len(packages.Elements) == 1 {
					value := v.json.Text[m.Value.Start:m.Value.End]
					p.apply(joined(v.json.Text, v.removal(root, i), v.written().addMember(&packages.Elements[0], v.present(name), value)))
				}
			default:
				p.suggest("remove it: the package has it").apply(v.removal(root, i))
			}
		})
	}
}

// joined returns the edit that applies two that do not overlap, or nil for others.
func joined(text string, a, b *Edit) *Edit {
	if b.Offset < a.Offset {
		a, b = b, a
	}
	if a.End > b.Offset {
		return nil
	}
	return &Edit{Offset: a.Offset, End: b.End, Text: a.Text + text[a.End:b.Offset] + b.Text}
}

// moved returns the edit that moves an element of a list to the end of another one, the member of an object with a key.
func (v *validator) moved(n, list *Node, i int, key string) *Edit {
	element := v.json.Text[list.Elements[i].Start:list.Elements[i].End]
	add := v.written().addMember(n, key, "["+element+"]")
	if to := n.Get(key); to != nil {
		if len(to.Elements) == 0 {
			return nil
		}
		end := to.Elements[len(to.Elements)-1].End
		add = &Edit{Offset: end, End: end, Text: ", " + element}
	}
	return joined(v.json.Text, removalOfElement(list, i), add)
}

// removalOfElement is removal for an element of an array.
func removalOfElement(n *Node, i int) *Edit {
	switch last := len(n.Elements) - 1; {
	case i < last:
		return &Edit{Offset: n.Elements[i].Start, End: n.Elements[i+1].Start}
	case i > 0:
		return &Edit{Offset: n.Elements[i-1].End, End: n.Elements[i].End}
	}
	return &Edit{Offset: n.Start, End: n.End, Text: "[]"}
}

// stub warns about a default or value of an input that stands for one of the reader's: what shows users an example is the
// placeholder. The message does not show it, because the input may be a secret.
func (v *validator) stub(in *Node, key string) {
	i := slices.IndexFunc(in.Members, func(m Member) bool { return m.Key == key && !m.Shadowed })
	m := &in.Members[i]
	if grammar.Stub(m.Value.Text) == "" {
		return
	}
	v.at(key, func() {
		p := v.warn(rulePlaceholder, &m.Value, "%s is an example, with which the server would run", v.subject())
		switch {
		case v.noPresentation:
			p.suggest("remove it, so that users have to provide a value")
		case in.Get("placeholder") != nil:
			p.suggest("remove it: users see the placeholder").apply(v.removal(in, i))
		default:
			p.suggest("call it placeholder, which users see").fix(m.KeyStart, m.KeyEnd, `"placeholder"`)
		}
	})
}

// containerOptions warns about flags of the server among those of the program that runs its image.
func (v *validator) containerOptions(n *Node, label string) {
	if label != OCI {
		return
	}
	key := v.present("runtimeArguments")
	list := n.Get(key)
	if list == nil {
		return
	}
	foreign := func(e *Node) *Node {
		word := e.Get("name")
		if stringOf(e.Get("type")) == string(PositionalArgument) {
			word = e.Get("value")
		}
		flag, _, _ := strings.Cut(stringOf(word), "=")
		if !strings.HasPrefix(flag, "--") || len(flag) < 3 || !grammar.Only(flag, "-_.") || grammar.IsContainerOption(flag) {
			return nil
		}
		return word
	}
	all := n.Get(v.present("packageArguments")) == nil && !slices.ContainsFunc(list.Elements, func(e Node) bool { return foreign(&e) == nil })
	at := slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == key && !m.Shadowed })
	for i := range list.Elements {
		word := foreign(&list.Elements[i])
		if word == nil {
			continue
		}
		v.path.Key(key)
		v.path.Index(i)
		p := v.warn(ruleRuntimeArgument, word, "%s is not an option of docker run, which gets runtimeArguments", v.subject()).suggest("move it to packageArguments")
		if all {
			p.fix(n.Members[at].KeyStart, n.Members[at].KeyEnd, `"`+v.present("packageArguments")+`"`)
		} else if word != list.Elements[i].Get("value") || strings.Contains(word.Text, "=") { // else the next one may be its value
			p.apply(v.moved(n, list, i, v.present("packageArguments")))
		}
		v.path = v.path[:len(v.path)-2]
	}
}
