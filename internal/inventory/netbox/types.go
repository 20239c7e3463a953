package netbox

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory/importer"
)

// typeParts are the lists in the files of device types that become objects, in the order of references.
var typeParts = []struct{ list, model string }{
	{"interfaces", "dcim.interfacetemplate"}, {"rear-ports", "dcim.rearporttemplate"}, {"front-ports", "dcim.frontporttemplate"}, {"port-mappings", templateMappings},
}

// otherTypes are the folders of the library with files of other kinds.
var otherTypes = []string{"module-types", "rack-types"}

// ReadTypes reads device types in the form of the devicetype-library, which NetBox and Nautobot share: a YAML file of up
// to 8 MiB, or those in a folder and the folders in it. Hidden ones are left out. The error for a file is an
// [*importer.FileError].
func ReadTypes(name string) (*Export, error) {
	x := newExport()
	err := filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		switch within := file != name; {
		case err != nil:
			return err
		case d.IsDir() && within && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || within && (strings.HasPrefix(d.Name(), ".") || !IsTypes(d.Name())):
			return nil
		}
		if kind := filepath.Base(filepath.Dir(filepath.Dir(file))); slices.Contains(otherTypes, kind) {
			x.counts[kind]++
			return nil
		}
		return x.readType(file)
	})
	x.finish()
	return x, err
}

// IsTypes reports whether the name of a file is that of a file of a device type.
func IsTypes(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
}

// readType adds the objects of the file of a device type.
func (x *Export) readType(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	text, err := io.ReadAll(io.LimitReader(f, yamltree.MaxBytes+1))
	if err != nil {
		return err
	}
	root, err := yamltree.Parse(text)
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		return importer.Fail(file, e.Line, "%s", e.Reason)
	}
	values, _ := plainYAML(root).(map[string]any)
	t := object(values)
	if t.text("manufacturer") == "" || t.text("model") == "" {
		return importer.Fail(file, root.Line, "is no device type: it has no manufacturer or no model")
	}
	numbers := map[string]json.Number{}
	add := func(model string, o object) json.Number {
		n := int64(x.total + 1)
		o["_file"] = filepath.Base(file)
		err = errors.Join(err, x.add(model, n, o))
		return ref(n)
	}
	t["manufacturer"] = add("dcim.manufacturer", object{"name": t["manufacturer"]})
	of := add("dcim.devicetype", t)
	for _, part := range typeParts {
		ports, _ := t[part.list].([]any)
		for _, port := range ports {
			values, ok := port.(map[string]any)
			if !ok {
				return importer.Fail(file, root.Get(part.list).Line, "%s has an item that is no mapping", part.list)
			}
			o := object{"device_type": of}
			maps.Copy(o, values)
			for _, side := range []string{"front", "rear"} {
				if name := o.text(side + "_port"); name != "" {
					o[side+"_port"] = numbers["dcim."+side+"porttemplate"+name]
				}
			}
			numbers[part.model+o.text("name")] = add(part.model, o)
		}
		delete(t, part.list)
	}
	for member, value := range t {
		if list, ok := value.([]any); ok {
			x.counts[member] += int64(len(list))
			delete(t, member)
		}
	}
	return err
}

// plainYAML returns a value as those of JSON are, and numbers as they are written. Maps have their line too.
func plainYAML(n *yamltree.Node) any {
	switch {
	case n.Kind == yamltree.Null:
		return nil
	case n.Kind == yamltree.List:
		all := []any{}
		for _, item := range n.Items {
			all = append(all, plainYAML(item))
		}
		return all
	case n.Kind == yamltree.Map:
		all := map[string]any{"_line": ref(int64(n.Line))}
		for _, f := range n.Fields {
			all[f.Name] = plainYAML(f.Value)
		}
		return all
	case n.Tag == "!!bool":
		return strings.EqualFold(n.Text, "true")
	case (n.Tag == "!!int" || n.Tag == "!!float") && json.Valid([]byte(n.Text)):
		return json.Number(n.Text)
	}
	return n.Text
}
