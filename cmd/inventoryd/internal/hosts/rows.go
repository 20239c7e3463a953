package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// vars are variables that are fields of devices, by name.
type vars map[string]string

// fields are the fields of devices, and the variables for each: the first that is there counts.
var fields = map[string][]string{
	"ip":            {"ansible_host", "ansible_ssh_host"},
	"os":            {"os", "platform", networkOS},
	"os_version":    {"os_version"},
	"vendor":        {"vendor", "manufacturer"},
	"model":         {"model"},
	"role":          {"role", "device_role"},
	"serial_number": {"serial_number", "serial"},
	"location":      {"site", "location"},
}

// networkOS is a variable whose value may have the collection in front: cisco.ios.ios.
const networkOS = "ansible_network_os"

// vaultMark begins values and files that are encrypted.
const vaultMark = "$ANSIBLE_VAULT"

// secrets are parts of the names of variables with secrets.
var secrets = []string{"pass", "secret", "token", "vault", "private_key", "api_key", "apikey", "credential", "community"}

// secretKind is the kind that variables with secrets are counted under.
const secretKind = "variables with secrets, which are not read"

// kindOf returns what a variable without a counterpart is counted as.
func kindOf(name string) string {
	lower := strings.ToLower(name)
	if slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(lower, part) }) {
		return secretKind
	}
	return "variable " + shown(name)
}

// isField reports whether a variable is a field of devices.
func isField(name string) bool {
	for _, names := range fields {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// read keeps a variable that is a field of devices, and counts others.
func (v *Inventory) read(into vars, name string, value *yamltree.Node) {
	switch {
	case isField(name) && value.Tag == "!vault":
		v.count(secretKind)
	case isField(name) && value.Kind == yamltree.Null:
	case isField(name) && value.Kind == yamltree.Text:
		v.readText(into, name, value.Text)
	default:
		v.count(kindOf(name))
	}
}

// maxValue is the maximum length of the value of a variable in bytes. Fields of devices have less.
const maxValue = 1000

// readText is read for a value that is text.
func (v *Inventory) readText(into vars, name, value string) {
	value = strings.TrimSpace(value)
	switch {
	case !isField(name):
		v.count(kindOf(name))
	case strings.Contains(value, vaultMark):
		v.count(secretKind)
	case strings.Contains(value, "{{") || strings.Contains(value, "{%"):
		v.count("templates of variable " + name)
	case len(value) > maxValue:
		v.count("values of variable " + name + " that are too long")
	default:
		into[name] = value
	}
}

// countHosts counts what hosts have that has no counterpart.
func (v *Inventory) countHosts() {
	for _, h := range v.hosts {
		groups := v.groupsOf(h)
		if ip, _ := v.text(h, groups, "ip"); ip != "" && importer.Address(ip) == "" {
			v.count("addresses that are names")
		}
		if _, rest := tagsOf(groups); rest > 0 {
			v.count("hosts with groups that are no tags")
		}
	}
}

// text returns a field of a host as the files have it, and the variable that it is from.
func (v *Inventory) text(h *host, groups []*group, field string) (value, name string) {
	for _, name := range fields[field] {
		if value, ok := h.vars[name]; ok {
			return value, name
		}
		for _, g := range groups {
			if value, ok := g.vars[name]; ok {
				return value, name
			}
		}
	}
	return "", ""
}

// device returns the fields of a host that the files have. The others stay as they are in the inventory.
func (v *Inventory) device(h *host) map[string]any {
	groups := v.groupsOf(h)
	values := map[string]any{"hostname": h.name}
	for field := range fields {
		value, name := v.text(h, groups, field)
		if name == networkOS {
			value = value[strings.LastIndexByte(value, '.')+1:]
		}
		if field == "ip" {
			value = cmp.Or(importer.Address(value), importer.Address(h.name))
		}
		if value != "" {
			values[field] = value
		}
	}
	if tags, _ := tagsOf(groups); len(tags) > 0 {
		values["tags"] = tags
	}
	return values
}

// tagsOf returns the names of groups that can be tags, and the number of others.
func tagsOf(groups []*group) (tags []string, rest int) {
	for _, g := range groups {
		switch {
		case g.name == everything || g.name == "ungrouped":
		case importer.IsTag(g.name) && len(tags) < importer.MaxTags:
			tags = append(tags, g.name)
		default:
			rest++
		}
	}
	slices.Sort(tags)
	return tags, rest
}

// Source returns the rows for an engine whose schema has locations and devices: a location for each name that none has, and a device for each host.
func (v *Inventory) Source(ctx context.Context, engine *records.Engine) (importer.Source, error) {
	schema := engine.Store().Schema()
	locations, _ := schema.Named("locations")
	devices, _ := schema.Named("devices")
	first := map[string]*host{} // the first host of a location
	var names []string
	for _, h := range v.hosts {
		name, _ := v.text(h, v.groupsOf(h), "location")
		if name != "" && first[name] == nil {
			first[name], names = h, append(names, name)
		}
	}
	missing, err := missingLocations(ctx, engine, devices, names)
	if err != nil {
		return nil, err
	}
	return importer.Rows(len(missing)+len(v.hosts), func(i int) (*importer.Row, error) {
		if i < len(missing) {
			h := first[missing[i]]
			return importer.NewRow(h.file, h.line, locations, map[string]any{"name": missing[i]})
		}
		h := v.hosts[i-len(missing)]
		return importer.NewRow(h.file, h.line, devices, v.device(h))
	}), nil
}

// missingLocations returns the names that fit no location, as the natural keys of devices' locations.
func missingLocations(ctx context.Context, engine *records.Engine, devices *records.Resource, names []string) (missing []string, err error) {
	for chunk := range slices.Chunk(names, records.MaxItems) {
		patches := make([]records.Patch, len(chunk))
		for i, name := range chunk {
			doc, err := json.Marshal(name)
			if err != nil {
				return nil, err
			}
			patches[i] = records.Patch{"location": doc}
		}
		var wrong []records.ItemError
		err := engine.Together(ctx, func(ctx context.Context, in *records.Engine) (err error) {
			wrong, err = in.Resolve(ctx, devices, patches)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, item := range wrong {
			if key, ok := errors.AsType[*records.UnresolvedKey](error(item.Err)); ok && !key.Several {
				missing = append(missing, chunk[item.Index])
			}
		}
	}
	return missing, nil
}
