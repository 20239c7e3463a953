package hosts

import (
	"fmt"

	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// everything is the group of Ansible that has all hosts.
const everything = "all"

// readYAML reads an inventory of Ansible in YAML: groups with hosts, children and vars.
func (v *Inventory) readYAML(in *input) error {
	if in.root.Kind != yamltree.Map {
		return in.at(in.root.Line).mustBe("", "a mapping of groups, such as all: with hosts, children and vars", in.root)
	}
	for _, f := range in.root.Fields {
		if err := v.readGroup(in, f, nil); err != nil {
			return err
		}
	}
	return nil
}

// child returns a group, and makes it a part of another one; nil means all.
func (v *Inventory) child(name string, parent *group, at position) (*group, error) {
	g, err := v.group(name, at)
	if err != nil {
		return nil, err
	}
	if parent == nil && name != everything {
		if parent, err = v.group(everything, at); err != nil {
			return nil, err
		}
	}
	if parent != nil {
		g.parents = append(g.parents, member{parent, at})
		err = v.join(1, at)
	}
	return g, err
}

// readGroup reads a group, and those within it.
func (v *Inventory) readGroup(in *input, f yamltree.Field, parent *group) error {
	g, err := v.child(f.Name, parent, in.at(f.Line))
	if err != nil {
		return err
	}
	if f.Value.Kind != yamltree.Map && f.Value.Kind != yamltree.Null {
		return in.at(f.Line).mustBe(fmt.Sprintf("the group %q", shown(f.Name)), "a mapping with hosts, children and vars", f.Value)
	}
	for _, part := range f.Value.Fields {
		if part.Value.Kind == yamltree.Null {
			continue
		}
		if part.Value.Kind != yamltree.Map {
			return in.at(part.Line).mustBe(fmt.Sprintf("%s of the group %q", shown(part.Name), shown(f.Name)),
				"a mapping, each name followed by a colon, as of ansible-inventory --list --yaml", part.Value)
		}
		for _, entry := range part.Value.Fields {
			switch part.Name {
			case "hosts":
				err = v.readHost(in, entry, g)
			case "children":
				err = v.readGroup(in, entry, g)
			case "vars":
				v.read(g.vars, entry.Name, entry.Value)
			default:
				err = in.at(part.Line).fail("the group %q has the unknown part %q: use hosts, children or vars", shown(f.Name), shown(part.Name))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readHost reads a host, or those of a range.
func (v *Inventory) readHost(in *input, f yamltree.Field, g *group) error {
	if f.Value.Kind != yamltree.Map && f.Value.Kind != yamltree.Null {
		return in.at(f.Line).mustBe(fmt.Sprintf("the host %q", shown(f.Name)), "a mapping of variables", f.Value)
	}
	own := vars{}
	for _, entry := range f.Value.Fields {
		v.read(own, entry.Name, entry.Value)
	}
	return v.addHosts(f.Name, g, own, in.at(f.Line))
}
