package netbox

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of an export, which is held in memory.
const (
	maxBytes   = 1 << 30 // of fixtures, decompressed
	maxObjects = 5_000_000
)

// object has the fields of one object of NetBox, by name.
type object map[string]any

// Export holds the objects of a NetBox.
type Export struct {
	kinds   []kind                      // in the order of references
	used    map[string]string           // the kinds whose objects are kept, and their paths in the REST API
	ends    map[int64][]cableEnd        // by the number of the cable
	tagged  map[tagged][]int64          // the numbers of the tags of objects
	objects map[string]map[int64]object // by kind, such as dcim.site, and number
	counts  map[string]int64            // of the kinds that are not read, and of values that can't be imported
	kept    map[string][]string         // the custom fields of KeepUnknown, by resource
	refused map[field]string            // why it makes no others
	total   int

	schema  *records.Schema           // which says what fields can have
	crowded map[int64]bool            // the VLANs whose number another one of their location has
	equal   map[string]map[int64]bool // by kind, the objects that are equal to another one here
	suffix  map[string]string         // of the names of objects, by kind and number
	serials map[string]int            // how many devices have a serial number
}

// tagged is an object with tags.
type tagged struct {
	model  string
	number int64
}

// cableEnd is an end of a cable.
type cableEnd struct {
	side  string // A or B
	model string // the kind of the port
	port  int64
}

func newExport() *Export {
	x := &Export{
		kinds: kinds(), used: maps.Clone(details), ends: map[int64][]cableEnd{}, tagged: map[tagged][]int64{}, objects: map[string]map[int64]object{}, counts: map[string]int64{},
		schema: inventory.Schema(), crowded: map[int64]bool{}, equal: map[string]map[int64]bool{}, suffix: map[string]string{}, serials: map[string]int{},
	}
	maps.Copy(x.used, namedKinds)
	for _, k := range x.kinds {
		x.used[k.model] = k.path
	}
	return x
}

// Read reads fixtures: a JSON array of objects with model, pk and fields, up to 1 GiB of text.
func Read(r io.Reader) (*Export, error) {
	in := bufio.NewReader(r)
	if start, _ := in.Peek(2); string(start) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("netbox: the file can't be decompressed: %w", err)
		}
		in = bufio.NewReader(unzipped)
	}
	limited := &io.LimitedReader{R: in, N: maxBytes}
	d := json.NewDecoder(limited)
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("netbox: the file is no JSON array: export it with manage.py dumpdata --format json")
	}
	x := newExport()
	for d.More() {
		var o struct {
			Model  string
			PK     any
			Fields object
		}
		if err := d.Decode(&o); err != nil {
			if limited.N == 0 {
				return nil, fmt.Errorf("netbox: the file has more than %d MiB", maxBytes>>20)
			}
			return nil, fmt.Errorf("netbox: byte %d: %w", d.InputOffset(), err)
		}
		if o.Model == "" || o.Fields == nil {
			return nil, fmt.Errorf("netbox: byte %d: the object has no model or no fields: export it with manage.py dumpdata --format json", d.InputOffset())
		}
		if err := x.add(o.Model, number(o.PK), o.Fields); err != nil {
			return nil, err
		}
	}
	x.finish()
	return x, nil
}

// finish finds what needs all objects.
func (x *Export) finish() {
	x.mapPorts("dcim.frontport", mappings)
	x.mapPorts("dcim.frontporttemplate", templateMappings)
	x.findCrowded()
	for _, o := range x.objects["dcim.device"] {
		x.serials[strings.TrimSpace(o.text("serial"))]++
	}
	x.tellApart()
}

// identities are the fields of natural keys.
var identities = map[string][]string{
	"locations": {"site_code"}, "racks": {"name", "location"}, "device-types": {"manufacturer", "model"}, "devices": {"hostname", "location", "tenant"},
	"vlans": {"vlan_id", "location", "name"}, "interfaces": {"name", "device"}, "rear-ports": {"name", "device"}, "front-ports": {"name", "device"},
	"terminations": {"name", "device", "kind"}, "vrfs": {"name", "rd"}, "prefixes": {"prefix", "vrf"}, "addresses": {"address", "vrf", "interface"},
}

// NetBox does not require all of these to differ. Of the records of a resource that would be equal, the first keeps its
// name and others get another one, or only the first is imported.
var renamed, once = []string{"racks", "devices", "terminations", "vrfs"}, []string{"vlans", "prefixes", "addresses"}

// tellApart finds the objects that would be the same record as another one before them.
func (x *Export) tellApart() {
	seen := map[string]bool{}
	for _, k := range x.kinds {
		if !slices.Contains(renamed, k.resource) && !slices.Contains(once, k.resource) {
			continue
		}
		x.equal[k.model] = map[int64]bool{}
		for _, n := range slices.Sorted(maps.Keys(x.objects[k.model])) {
			row, _ := x.values(k, n, x.objects[k.model][n])
			if row == nil {
				continue
			}
			if k.model == addresses {
				host, _, _ := strings.Cut(fmt.Sprint(row["address"]), "/")
				shared := slices.Contains(sharedRoles, fmt.Sprint(row["role"]))
				if row["address"] = fmt.Sprint(host, shared); !shared {
					delete(row, "interface")
				}
			}
			key := k.resource
			for _, field := range identities[k.resource] {
				key += fmt.Sprint("\n", row[field])
			}
			if k.resource == "devices" { // whose names do not differ in case only
				key = strings.ToLower(key)
			}
			switch {
			case seen[key] && slices.Contains(once, k.resource):
				x.equal[k.model][n] = true
			case seen[key]:
				x.suffix[k.model+strconv.FormatInt(n, 10)] = fmt.Sprintf(" (%s %d)", k.model[strings.IndexByte(k.model, '.')+1:], n)
			}
			seen[key] = true
		}
	}
}

// mapPorts gives front ports the members that they had before 4.5. They may have several positions since; the inventory has
// one.
func (x *Export) mapPorts(ports, mappings string) {
	all := map[int64][]any{}
	for _, n := range slices.Sorted(maps.Keys(x.objects[mappings])) {
		m := x.objects[mappings][n]
		all[number(m["front_port"])] = append(all[number(m["front_port"])], map[string]any(m))
	}
	for id, port := range x.objects[ports] {
		rears, _ := port["rear_ports"].([]any)
		delete(port, "rear_ports")
		if rears = append(rears, all[id]...); len(rears) > 0 {
			first, _ := slices.MinFunc(rears, func(a, b any) int { return cmp.Compare(frontPosition(a), frontPosition(b)) }).(map[string]any)
			port["rear_port"], port["rear_port_position"] = plain(first["rear_port"]), first["rear_port_position"]
		}
		if len(rears) > 1 {
			x.counts[ports+" rear_ports: more than one position"]++
		}
	}
}

// frontPosition returns the position of a front port that a mapping is for.
func frontPosition(mapping any) int64 {
	m, _ := mapping.(map[string]any)
	return number(cmp.Or(m["front_port_position"], m["position"]))
}

// findCrowded finds the VLANs with a number that another VLAN of their location has, which may be in another group.
func (x *Export) findCrowded() {
	seen := map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(x.objects["ipam.vlan"])) {
		o := x.objects["ipam.vlan"][n]
		place, _ := x.vlanPlace(n, o).(object)
		at := fmt.Sprint(o["vid"], place)
		x.crowded[n] = place != nil && seen[at]
		seen[at] = true
	}
}

// sharedRoles are those of addresses that several interfaces may have.
var sharedRoles = []string{"anycast", "vip", "vrrp", "hsrp", "glbp", "carp"}

// add adds an object, or counts it.
func (x *Export) add(model string, id int64, o object) error {
	if _, ok := x.used[model]; !ok || id == 0 {
		x.counts[model]++
		return nil
	}
	if x.total++; x.total > maxObjects {
		return fmt.Errorf("netbox: there are more than %d objects", maxObjects)
	}
	switch model {
	case tags:
		of := tagged{x.kindOf(o["content_type"]), number(o["object_id"])}
		x.tagged[of] = append(x.tagged[of], number(o["tag"]))
		return nil
	case terminations:
		cable := number(o["cable"])
		x.ends[cable] = append(x.ends[cable], cableEnd{o.text("cable_end"), x.kindOf(o["termination_type"]), number(o["termination_id"])})
		return nil
	case "dcim.cable":
		x.addEnds(id, o)
	case interfaces:
		vlans, _ := o["tagged_vlans"].([]any)
		for _, vlan := range vlans {
			x.put(taggedVLANs, int64(len(x.objects[taggedVLANs])+1), object{"interface": ref(id), "vlan": plain(vlan), "_line": ref(id)})
		}
	}
	x.put(model, id, o)
	return nil
}

func (x *Export) put(model string, id int64, o object) {
	if x.objects[model] == nil {
		x.objects[model] = map[int64]object{}
	}
	x.objects[model][id] = o
}

// addEnds adds the ends of a cable that the REST API has with it.
func (x *Export) addEnds(cable int64, o object) {
	for _, side := range []string{"A", "B"} {
		member := "termination_" + strings.ToLower(side) // before 3.3
		if id := number(o[member+"_id"]); id != 0 {
			x.ends[cable] = append(x.ends[cable], cableEnd{side, x.kindOf(o[member+"_type"]), id})
		}
		member = strings.ToLower(side) + "_terminations"
		ends, _ := o[member].([]any)
		for _, end := range ends {
			if at, ok := end.(map[string]any); ok {
				x.ends[cable] = append(x.ends[cable], cableEnd{side, x.kindOf(at["object_type"]), number(at["object_id"])})
			}
		}
	}
}

// each calls f with the objects of the kinds that become records, their rows, nil for those that have none, and which of
// their values the inventory can't have.
func (x *Export) each(f func(k kind, number int64, o, row object, losses []string)) {
	for _, k := range x.kinds {
		for number, o := range x.objects[k.model] {
			row, losses := x.values(k, number, o)
			f(k, number, o, row, losses)
		}
	}
}

// Unplaced returns the kinds that have no counterpart in the inventory, and the fields of others, as in
// "dcim.site facility", the most objects first. What KeepUnknown keeps is left out, and of the rest it says why.
func (x *Export) Unplaced() []importer.Count {
	counts := maps.Clone(x.counts)
	x.each(func(k kind, number int64, o, row object, losses []string) {
		switch {
		case x.equal[k.model][number]:
			counts[k.model+" equal to another one"]++
			return
		case row == nil:
			counts[k.model]++
			return
		}
		for _, loss := range losses {
			counts[loss]++
		}
		for _, a := range x.attributes(k, number, o) {
			reason := cmp.Or(a.reason, x.refused[field{k.resource, fieldName(a.name)}])
			switch {
			case x.kept == nil:
				counts[k.model+" "+a.name]++
			case reason != "":
				counts[k.model+" "+a.name+": "+reason]++
			}
		}
	})
	for model := range namedKinds {
		counts[model] += int64(len(x.objects[model]))
	}
	counts[macs] = int64(len(x.objects[macs]))
	for _, o := range x.objects[interfaces] {
		if x.referenced(macs, o["primary_mac_address"]) != nil {
			counts[macs]--
		}
	}
	return importer.Counts(counts)
}

// Source returns the rows for a schema. Their file is the kind and their line the number of the object; those of device
// types have the file and line of these.
func (x *Export) Source(schema *records.Schema) importer.Source {
	var rows []func() (*importer.Row, error)
	for _, k := range x.kinds {
		r, ok := schema.Named(k.resource)
		if !ok {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(x.objects[k.model])) {
			if row, _ := x.values(k, n, x.objects[k.model][n]); row == nil {
				continue
			}
			rows = append(rows, func() (*importer.Row, error) { return x.row(k, r, n) })
		}
	}
	return importer.Rows(len(rows), func(i int) (*importer.Row, error) { return rows[i]() })
}

// row returns the row of object n of a kind.
func (x *Export) row(k kind, r *records.Resource, n int64) (*importer.Row, error) {
	o := x.objects[k.model][n]
	values, _ := x.values(k, n, o)
	x.keep(values, k, r, n, o)
	file := cmp.Or(o.text("_file"), k.model)
	row, err := importer.NewRow(file, int(cmp.Or(number(o["_line"]), n)), r, values)
	if err == nil && file == k.model {
		row.Text = bytes.TrimPrefix(row.Text, []byte("- ")) // a line of JSON
	}
	return row, err
}

// referenced returns the object that a field refers to, nil for none.
func (x *Export) referenced(model string, ref any) object { return x.objects[model][number(ref)] }

// text returns a field as text.
func (o object) text(name string) string {
	switch v := o[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// decimal returns a field as a number, nil for none.
func (o object) decimal(name string) any {
	n, err := strconv.ParseFloat(o.text(name), 64)
	if err != nil {
		return nil
	}
	return n
}

// ref returns a reference to object n of a kind.
func ref(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// number returns a whole number, 0 for none.
func number(v any) int64 {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return i
}
