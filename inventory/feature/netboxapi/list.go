package netboxapi

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// list is a list of NetBox.
type list struct {
	path     string   // such as dcim/devices
	resource string   // of the records; empty for a list that has none here
	also     []string // further resources that the sender has to be allowed to list
	filters  map[string]filter
	read     func(p *page) error // in place of the records of the query
}

// filter is a parameter of a list. Its values become a condition on a field.
type filter struct {
	field  string
	values func(p *page, values []string) ([]string, error) // nil for those of the field, which has lookups then
}

// lookups are the endings of parameters in NetBox, and those of the inventory.
var lookups = map[string]string{"": "", "n": "ne", "ic": "contains", "isw": "startswith", "empty": "isnull", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte"}

// common are the parameters of all lists.
var common = []string{"brief", "exclude", "fields", "format", "id", "limit", "offset", "omit", "ordering", "q", "start"}

// parameters returns the names of the parameters of the list.
func (l *list) parameters() []string {
	all := slices.Clone(common)
	for name, f := range l.filters {
		for ending := range lookups {
			if ending == "" || f.values == nil {
				all = append(all, strings.TrimSuffix(name+"__"+ending, "__"))
			}
		}
	}
	slices.Sort(all)
	return all
}

// The values that NetBox has other names for.
var (
	deviceStatus = map[string]string{"provisioning": "staged", "decommissioned": "decommissioning"}
	faces        = map[string]string{"back": "rear"}
	modes        = map[string]string{"trunk": "tagged", "trunk-all": "tagged-all"}
)

// lists returns the lists.
func lists() []*list {
	plain := func(pairs string, more ...map[string]filter) map[string]filter {
		all := map[string]filter{"id": {field: "id"}}
		for pair := range strings.FieldsSeq(pairs) {
			name, field, _ := strings.Cut(pair, "=")
			all[name] = filter{field: cmp.Or(field, name)}
		}
		for _, m := range more {
			maps.Copy(all, m)
		}
		return all
	}
	texts := func(name, path, field string) map[string]filter { // the objects that are texts here
		return map[string]filter{
			name: {field, func(p *page, values []string) ([]string, error) {
				return p.textsWith(path, values, func(t *text) string { return t.slug })
			}},
			name + "_id": {field, func(p *page, values []string) ([]string, error) {
				return p.textsWith(path, values, func(t *text) string { return t.ID })
			}},
		}
	}
	named := func(name, resource, key, field string) map[string]filter { // references by name or id
		return map[string]filter{
			name: {field, func(p *page, values []string) ([]string, error) { return p.idsOf(resource, key, values) }}, name + "_id": {field: field},
		}
	}
	of := func(values func(p *page, devices []string) ([]string, error), field string) map[string]filter { // what the devices have
		return map[string]filter{
			"device_id": {field, values},
			"device": {field, func(p *page, names []string) ([]string, error) {
				ids, err := p.idsOf("devices", "hostname", names)
				if err == nil {
					ids, err = values(p, ids)
				}
				return ids, err
			}},
		}
	}
	choice := func(field string, names map[string]string) filter {
		return filter{field, func(_ *page, values []string) ([]string, error) {
			for i, value := range values {
				for own, theirs := range names {
					if value == theirs {
						values[i] = own
					}
				}
			}
			return values, nil
		}}
	}
	places := func(field string) map[string]filter {
		all := map[string]filter{}
		for _, kind := range []string{"region", "site", "location"} {
			all[kind] = filter{field, func(p *page, slugs []string) ([]string, error) { return p.below(kind, slugs, slugOf) }}
			all[kind+"_id"] = filter{field, func(p *page, ids []string) ([]string, error) { return p.below(kind, ids, idOf) }}
		}
		return all
	}
	placed := map[string]filter{"parent_id": {field: "parent_id"}}
	slugs := map[string]filter{"slug": {"id", func(p *page, slugs []string) ([]string, error) { return p.placesWith(slugs, slugOf) }}}
	site := map[string]filter{"site": places("id")["site"], "site_id": places("id")["site_id"], "region": places("id")["region"], "region_id": places("id")["region_id"]}
	all := []*list{
		{path: "dcim/devices", resource: "devices", filters: plain(
			"name=hostname serial=serial_number tag=tags position=rack_unit mac_address=", places("location_id"), texts("role", "dcim/device-roles", "role"), texts("platform", "dcim/platforms", "os"),
			texts("tenant", "tenancy/tenants", "tenant"), texts("manufacturer", "dcim/manufacturers", "vendor"), named("rack", "racks", "name", "rack_id"), named("primary_ip4", "addresses", "address", "id"),
			map[string]filter{
				"status": choice("status", deviceStatus), "has_primary_ip": {"ip", nil}, "face": choice("rack_face", faces),
				"model":          {field: "model"},
				"device_type":    {"model", func(p *page, slugs []string) ([]string, error) { return p.typesWith(slugs, typeSlug, typeModel) }},
				"device_type_id": {"model", func(p *page, ids []string) ([]string, error) { return p.typesWith(ids, idOf, typeModel) }},
			},
		)},
		{path: "dcim/sites", resource: "locations", filters: plain("name", slugs, site, map[string]filter{"status": {}}), read: (*page).readSites},
		{path: "dcim/regions", resource: "locations", filters: plain("name", slugs, placed), read: (*page).readPlaces},
		{path: "dcim/locations", resource: "locations", filters: plain("name", slugs, placed, site), read: (*page).readPlaces},
		{path: "dcim/racks", resource: "racks", filters: plain("name serial=serial_number asset_tag status u_height=height", places("location_id"), texts("tenant", "tenancy/tenants", "tenant"))},
		{path: "dcim/device-types", resource: "device-types", also: []string{"devices"}, filters: plain("model part_number", texts("manufacturer", "dcim/manufacturers", "manufacturer"), map[string]filter{
			"slug": {"id", func(p *page, slugs []string) ([]string, error) { return p.typesWith(slugs, typeSlug, idOf) }},
		}), read: (*page).readTypes},
		{path: "dcim/interfaces", resource: "interfaces", filters: plain(
			"name type description mtu mac_address parent_id lag_id", of(same, "device_id"), map[string]filter{"mode": choice("mode", modes), "enabled": choice("admin_status", map[string]string{"up": "true", "down": "false"})},
		)},
		{path: "dcim/cables", resource: "cables", filters: plain("label type status color", map[string]filter{})},
		{path: "ipam/ip-addresses", resource: "addresses", filters: plain(
			"address parent=address dns_name status role description interface_id", named("vrf", "vrfs", "rd", "vrf_id"), of((*page).portsOf, "interface_id"), map[string]filter{"assigned_to_interface": {"interface_id", nil}},
		), read: (*page).readAddresses},
		{path: "ipam/prefixes", resource: "prefixes", filters: plain("prefix within_include=prefix within=prefix status description vlan_id", places("location_id"), named("vrf", "vrfs", "rd", "vrf_id"))},
		{path: "ipam/vlans", resource: "vlans", filters: plain("vid=vlan_id name status description", places("location_id"))},
		{path: "ipam/vrfs", resource: "vrfs", filters: plain("name rd description")},
		{path: "dcim/device-roles", resource: "devices"},
		{path: "dcim/platforms", resource: "devices"},
		{path: "dcim/manufacturers", resource: "devices", also: []string{"device-types"}},
		{path: "tenancy/tenants", resource: "devices", also: []string{"racks"}},
	}
	for _, l := range all[len(all)-4:] {
		l.filters, l.read = plain("name slug"), (*page).readTexts
	}
	for _, path := range []string{
		"dcim/site-groups", "dcim/rack-groups", "ipam/services", "virtualization/clusters", "virtualization/interfaces", "virtualization/virtual-disks", "virtualization/virtual-machines",
	} {
		filters := all[0].filters
		if path != "virtualization/virtual-machines" {
			filters = plain("name slug device_id device parent_object_id virtual_machine_id")
		}
		all = append(all, &list{path: path, filters: filters})
	}
	return all
}

// parse reads the parameters of a request.
func (p *page) parse(ctx context.Context, query url.Values) (err error) {
	p.ctx = ctx
	number := func(name string, most int, to *int) {
		if n, wrong := strconv.Atoi(query.Get(name)); query.Has(name) && (wrong != nil || n < 0) {
			err = cmp.Or(err, error(records.Refuse(name, records.OutOfRange(0, most, ""))))
		} else if query.Has(name) {
			*to = n
		}
	}
	number("limit", maxLimit, &p.limit)
	number("offset", 1<<31-1, &p.offset)
	if p.limit == 0 || p.limit > maxLimit {
		p.limit = maxLimit
	}
	p.brief, p.cursor = slices.Contains([]string{"true", "1"}, query.Get("brief")), query.Has("start") && p.list.read == nil && p.query != nil
	if names := query.Get("fields"); names != "" {
		p.only = strings.Split(names, ",")
	}
	for _, name := range []string{"omit", "exclude"} {
		if names := query.Get(name); names != "" && names != "config_context" { // which is empty
			p.without = append(p.without, strings.Split(names, ",")...)
		}
	}
	if err != nil || p.query == nil {
		return err
	}
	p.query.Limit, p.query.Offset, p.query.Text = int64(p.limit), int64(p.offset), query.Get("q")
	if p.cursor {
		p.query.Count, p.query.Offset = false, 0
		if start := query.Get("start"); records.ValidID(start) {
			p.query.After = &records.Place{ID: start}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if err = p.filter(name, query[name]); err != nil {
			return err
		}
	}
	if order := query.Get("ordering"); order != "" {
		name, desc := strings.CutPrefix(order, "-")
		f, _ := p.query.Resource.Field(p.list.filters[name].field)
		if f == nil || !f.Sortable() {
			return records.Refuse("ordering", records.Unknown("field", records.Hint(name, slices.Sorted(maps.Keys(p.list.filters)))))
		}
		p.query.Sort = []records.SortKey{{Field: f, Desc: desc}}
	}
	return nil
}

// filter adds the condition of a parameter to the query. Its values are alternatives, except those of a list.
func (p *page) filter(name string, values []string) error {
	base, ending, _ := strings.Cut(name, "__")
	f, known := p.list.filters[base]
	op, is := lookups[ending]
	switch {
	case strings.HasPrefix(name, "cf_") && p.list.read == nil:
		f, known = filter{field: strings.TrimPrefix(base, "cf_")}, true
	case slices.Contains(common, name) && name != "id":
		return nil
	}
	if !known || !is || ending != "" && f.values != nil {
		return records.Refuse(name, records.Unknown("query parameter", records.Hint(name, p.list.parameters())))
	}
	switch {
	case f.field == "": // the status of sites
		p.none = p.none || !slices.Contains(values, "active")
		return nil
	case p.list.path != "dcim/device-types" && texts[p.list.path] != nil:
		p.wanted[base] = values
		return nil
	}
	switch base {
	case "has_primary_ip", "assigned_to_interface":
		op, values = "isnull", []string{strconv.FormatBool(values[0] != "true")}
	case "parent", "within", "within_include":
		op = "within"
	}
	if f.values != nil {
		found, err := f.values(p, slices.Clone(values))
		if err != nil {
			return err
		}
		p.query.WhereIn(f.field, found)
		p.none = p.none || len(found) == 0
		return nil
	}
	parameter := strings.TrimSuffix(f.field+"__"+op, "__")
	var all []any
	var one records.Filter
	for _, value := range values {
		parsed, err := records.ParseQuery(p.query.Resource, url.Values{parameter: {value}})
		if e, ok := err.(*records.Error); ok && len(e.Fields) > 0 {
			return records.Refuse(name, records.FieldError{Code: e.Fields[0].Code, Reason: e.Fields[0].Reason})
		} else if err != nil {
			return err
		}
		one = parsed.Filters[0]
		if all = append(all, one.Value); one.Field.Kind == records.List {
			p.query.Filters = append(p.query.Filters, one)
		}
	}
	switch {
	case one.Field.Kind == records.List:
	case len(all) == 1:
		p.query.Filters = append(p.query.Filters, one)
	case one.Op == records.Eq:
		p.query.Filters = append(p.query.Filters, records.Filter{Field: one.Field, Op: records.In, Value: all})
	case one.Op == records.Ne:
		for _, value := range all {
			p.query.Filters = append(p.query.Filters, records.Filter{Field: one.Field, Op: records.Ne, Value: value})
		}
	default:
		return records.Refuse(name, records.Repeated())
	}
	return nil
}

func typeSlug(t *inventory.DeviceType) string  { return slug(t.Model) }
func typeModel(t *inventory.DeviceType) string { return t.Model }

// same returns ids as they are.
func same(_ *page, ids []string) ([]string, error) { return ids, nil }

// maxIDs is the maximum number of records that a filter stands for.
const maxIDs = 10_000

// idsOf returns the ids of the records of a resource with one of some values.
func (p *page) idsOf(resource, field string, values []string) (ids []string, err error) {
	of, _ := p.r.Inventory.Records().Schema().Named(resource)
	if of == nil || p.r.Inventory.May(of, records.RouteList) != nil {
		return nil, nil
	}
	for rec, err := range records.All(p.ctx, p.r.Inventory.Records(), (&records.Query{Resource: of, Limit: maxLimit}).WhereIn(field, values)) {
		if err != nil {
			return nil, err
		}
		if ids = append(ids, rec.Meta().ID); len(ids) > maxIDs {
			return nil, records.Refuse(resource, records.TooMany(maxIDs, "records: name fewer"))
		}
	}
	return ids, nil
}

// portsOf returns the ids of the interfaces of devices.
func (p *page) portsOf(devices []string) ([]string, error) {
	return p.idsOf("interfaces", "device_id", devices)
}
