package hosts

import (
	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// The parts of a SimpleInventory beside the hosts, by the names of their files.
const (
	groupsPart   = "groups"
	defaultsPart = "defaults"
)

// readNornir reads a file of a SimpleInventory.
func (v *Inventory) readNornir(in *input) error {
	if in.root == nil {
		return in.at(1).fail("is not YAML, which files of Nornir are")
	}
	if in.root.Kind == yamltree.Null {
		return nil
	}
	if in.root.Kind != yamltree.Map {
		return in.at(in.root.Line).fail("must be a mapping, each name followed by a colon, not %s", in.root.Kind.Describe())
	}
	if in.part == defaultsPart {
		_, err := v.readMember(in, yamltree.Field{Name: "", Line: in.root.Line, Value: in.root}, v.defaults)
		return err
	}
	for _, f := range in.root.Fields {
		if err := v.readEntry(in, f); err != nil {
			return err
		}
	}
	return nil
}

// readEntry reads a host or a group.
func (v *Inventory) readEntry(in *input, f yamltree.Field) error {
	at := in.at(f.Line)
	own := vars{}
	names, err := v.readMember(in, f, own)
	if err != nil {
		return err
	}
	groups := make([]*group, len(names))
	for i, name := range names {
		if groups[i], err = v.group(name.Text, in.at(name.Line)); err != nil {
			return err
		}
	}
	if err := v.join(len(groups), at); err != nil {
		return err
	}
	if in.part == groupsPart {
		g, err := v.group(f.Name, at)
		if err != nil {
			return err
		}
		g.vars = own
		for i, parent := range groups {
			g.parents = append(g.parents, member{parent, in.at(names[i].Line)})
		}
		return nil
	}
	h, err := v.host(f.Name, at)
	if err != nil {
		return err
	}
	h.vars, h.groups = own, groups
	return nil
}

// readMember reads the variables of a host, of a group or of the defaults, and returns the names of its groups.
func (v *Inventory) readMember(in *input, f yamltree.Field, into vars) (groups []*yamltree.Node, err error) {
	if f.Value.Kind != yamltree.Map && f.Value.Kind != yamltree.Null {
		return nil, in.at(f.Line).fail("%q must be a mapping with fields such as hostname, platform, groups and data, not %s", shown(f.Name), f.Value.Kind.Describe())
	}
	for _, field := range f.Value.Fields {
		value, at := field.Value, in.at(field.Line)
		switch field.Name {
		case "data":
			if value.Kind != yamltree.Map && value.Kind != yamltree.Null {
				return nil, at.fail("data must be a mapping, not %s", value.Kind.Describe())
			}
			for _, entry := range value.Fields {
				v.read(into, entry.Name, entry.Value)
			}
		case "groups":
			if value.Kind != yamltree.List && value.Kind != yamltree.Null {
				return nil, at.fail("groups must be a list of names, not %s", value.Kind.Describe())
			}
			for _, name := range value.Items {
				if name.Kind != yamltree.Text {
					return nil, in.at(name.Line).fail("the name of a group must be a text, not %s", name.Kind.Describe())
				}
			}
			groups = value.Items
		case "hostname":
			v.read(into, "ansible_host", value)
		default: // platform, port, username, password, and the data of older files
			v.read(into, field.Name, value)
		}
	}
	return groups, nil
}
