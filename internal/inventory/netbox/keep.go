package netbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// keptPrefix begins the names of the custom fields that keep what has no other field.
const keptPrefix = "netbox_"

// The bounds of custom fields (inventory.CustomField).
const (
	maxText  = 500 // characters
	maxLabel = 100 // bytes
	maxName  = 40
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// references are the members whose values are the names of other objects, and the kinds of these. Names that
// depend on the kind of the object begin with it.
var references = map[string]string{
	"tenant": "tenancy.tenant", "dcim.site group": "dcim.sitegroup", "ipam.vlan group": "ipam.vlangroup", "ipam.vlan role": "ipam.role",
	"dcim.rack role": "dcim.rackrole", "virtual_chassis": "dcim.virtualchassis", "platform": "dcim.platform", "default_platform": "dcim.platform",
	"vrf": "ipam.vrf", "import_targets": "ipam.routetarget", "export_targets": "ipam.routetarget",
	"dcim.powerfeed rack": "dcim.rack", "cluster": "virtualization.cluster", "power_port": "dcim.powerport",
}

// numbers are the members that are numbers, and no references to objects.
var numbers = []string{
	"width", "outer_width", "outer_height", "outer_depth", "mounting_depth", "starting_unit", "weight", "max_weight", "vc_position", "vc_priority",
	"voltage", "amperage", "max_utilization", "maximum_draw", "allocated_draw", "speed", "port_speed", "upstream_speed",
	"tx_power", "rf_channel_frequency", "rf_channel_width", "latitude", "longitude", "length", "u_height", "position",
}

// derived are the members that NetBox makes from others, and those that are read otherwise.
var derived = []string{
	"id", "slug", "url", "display", "display_name", "display_url", "created", "last_updated", "cable", "cable_end", "assigned_object_type",
	"link_peers", "link_peers_type", "connected_endpoints", "connected_endpoints_type", "connected_endpoints_reachable", "occupied", "lft", "rght",
	"tree_id", "level", "depth", "children", "family", "front_ports", "nat_outside", "available_power", "utilization", "mac_addresses", "total_vlan_ids", "custom_field_data", "custom_fields",
}

// isDerived reports whether a member is one of these, or a number of other objects.
func isDerived(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "count_") || strings.HasSuffix(name, "_count") || slices.Contains(derived, name)
}

// field is a custom field of a resource.
type field struct{ resource, name string }

// KeepUnknown makes [Export.Source] put the custom fields of NetBox, and texts that the inventory has no field
// for, into custom fields such as netbox_facility. It creates those that are missing, unless it is a dry run,
// whose rows have only those that exist. Call Source with the schema that the store has then. It returns what is kept, as in
// "dcim.site facility: locations.netbox_facility", the most objects first; [Export.Unplaced] then says why the rest is not.
func (x *Export) KeepUnknown(ctx context.Context, engine *records.Engine, by records.Caller, dryRun bool) ([]importer.Count, error) {
	fields, err := records.Select[inventory.CustomField](ctx, engine.Store(), &records.Query{})
	if err != nil {
		return nil, err
	}
	existing := map[field]*inventory.CustomField{}
	for _, f := range fields {
		existing[field{f.Resource, f.Name}] = f
	}
	counts := map[field]map[string]int64{}
	x.each(func(k kind, number int64, o, row object, _ []string) {
		for _, a := range x.attributes(k, number, o) {
			at := field{k.resource, fieldName(a.name)}
			if row == nil || a.reason != "" {
				continue
			}
			if counts[at] == nil {
				counts[at] = map[string]int64{}
			}
			counts[at][fmt.Sprintf("%s %s: %s.%s", k.model, a.name, at.resource, at.name)]++
		}
	})
	x.kept, x.refused = map[string][]string{}, map[field]string{}
	kept := map[string]int64{}
	for _, at := range x.choose(counts, existing) {
		maps.Copy(kept, counts[at])
		x.kept[at.resource] = append(x.kept[at.resource], at.name)
		if dryRun || existing[at] != nil {
			continue
		}
		f := &inventory.CustomField{Resource: at.resource, Name: at.name, Type: inventory.CustomText, Label: strings.TrimPrefix(at.name, keptPrefix)}
		if err := engine.Create(ctx, by, f); err != nil {
			return nil, fmt.Errorf("netbox: custom field %s of %s: %w", f.Name, f.Resource, err)
		}
	}
	return importer.Counts(kept), nil
}

// choose returns the fields that keep the values of some objects. The fields that exist come first, then those that most
// objects have. It says why others are refused.
func (x *Export) choose(counts map[field]map[string]int64, existing map[field]*inventory.CustomField) (chosen []field) {
	totals, number := map[field]int64{}, map[string]int{}
	for at, names := range counts {
		for _, n := range names {
			totals[at] += n
		}
	}
	for at := range existing {
		number[at.resource]++
	}
	all := slices.SortedFunc(maps.Keys(totals), func(a, b field) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), strings.Compare(a.resource, b.resource), strings.Compare(a.name, b.name))
	})
	for _, at := range all {
		f := existing[at]
		switch {
		case f != nil && f.Type != inventory.CustomText:
			x.refused[at] = fmt.Sprintf("the custom field %s of %s has the type %s: delete it, or change NetBox's name", at.name, at.resource, f.Type)
		case f == nil && number[at.resource] >= inventory.MaxCustomFields:
			x.refused[at] = fmt.Sprintf("%s can have no more than %d custom fields", at.resource, inventory.MaxCustomFields)
		default:
			if f == nil {
				number[at.resource]++
			}
			chosen = append(chosen, at)
		}
	}
	return chosen
}

// attribute is a value of an object that the inventory has no field for.
type attribute struct {
	name, text string
	reason     string // why it can't be kept
}

// attributes returns the values of an object without a field: its custom fields, tags, and members that are not
// read. Values that are empty, 0 or false are left out.
func (x *Export) attributes(k kind, number int64, o object) (all []attribute) {
	seen, read := map[string]bool{}, k.read()
	add := func(name string, value any) {
		text, reason := keptText(value)
		if text == "" && reason == "" {
			return
		}
		to := fieldName(name)
		switch {
		case reason != "":
		case to == "":
			reason = fmt.Sprintf("the name is no name of a custom field, which has letters, digits and single underscores, up to %d without %s", maxName-len(keptPrefix), keptPrefix)
		case seen[to]:
			reason = "a custom field of the object has the same name"
		}
		seen[to] = true
		all = append(all, attribute{printable.Truncate(name, maxLabel), text, reason})
	}
	for _, member := range []string{"custom_field_data", "custom_fields"} { // of fixtures, and of the REST API
		custom, _ := o[member].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(custom)) {
			add(name, custom[name])
		}
	}
	if !slices.Contains(read, "tags") {
		add("tags", strings.Join(x.tagsOf(k.model, number, o), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if name == "tags" || isDerived(name) || slices.Contains(read, name) {
			continue
		}
		value, reason := x.member(k.model, name, o[name])
		if reason != "" {
			all = append(all, attribute{name: name, reason: reason})
			continue
		}
		add(name, value)
	}
	return all
}

// member returns the value of a member of an object, of references the names of the objects, or why it can't be
// kept. Nil is no value.
func (x *Export) member(model, name string, value any) (kept any, reason string) {
	of := cmp.Or(references[model+" "+name], references[name])
	switch v := value.(type) {
	case string:
		return v, ""
	case bool:
		if v {
			return v, ""
		}
	case json.Number:
		switch n, _ := v.Float64(); {
		case n == 0:
		case slices.Contains(numbers, name):
			return v, ""
		case of != "":
			return x.referenced(of, v).text("name"), ""
		default:
			return nil, "refers to an object that is not imported"
		}
	case []any:
		if len(v) > 0 && of == "" {
			return nil, "is a list"
		}
		var names []string
		for _, element := range v {
			names = append(names, x.referenced(of, plain(element)).text("name"))
		}
		return strings.Join(names, ", "), ""
	case map[string]any:
		if len(v) > 0 {
			return nil, "is an object"
		}
	}
	return nil, ""
}

// keep adds the fields that keep unknown values to those of a row. A value that NetBox no longer has is cleared.
func (x *Export) keep(row object, k kind, r *records.Resource, number int64, o object) {
	if len(x.kept[r.Name]) == 0 {
		return
	}
	for _, name := range x.kept[r.Name] {
		if _, ok := r.Field(name); ok { // else it is a dry run
			row[name] = ""
		}
	}
	for _, a := range x.attributes(k, number, o) {
		if _, ok := row[fieldName(a.name)]; ok && a.reason == "" {
			row[fieldName(a.name)] = a.text
		}
	}
}

// lines are the line breaks that one line has as spaces.
var lines = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// keptText returns a value as a line of text, or why it is none.
func keptText(value any) (text, reason string) {
	if o, ok := value.(map[string]any); ok && o["value"] != nil {
		value = o["value"] // of a choice
	}
	switch v := value.(type) {
	case nil:
		return "", ""
	case string:
		text = strings.TrimSpace(lines.Replace(v))
	case json.Number:
		text = v.String()
	case bool:
		text = strconv.FormatBool(v)
	default:
		return "", "is no text, number or boolean"
	}
	switch {
	case utf8.RuneCountInString(text) > maxText:
		return "", fmt.Sprintf("has more than %d characters", maxText)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", "has control characters"
	}
	return text, ""
}

// fieldName returns the name of the custom field for a name of NetBox, "" if there is none.
func fieldName(name string) string {
	to := keptPrefix + strings.ToLower(name)
	if len(to) > maxName || !namePattern.MatchString(to) {
		return ""
	}
	return to
}
