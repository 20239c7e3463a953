package netbox

import (
	"bufio"
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

// Export is what a NetBox has.
type Export struct {
	objects map[string]map[int64]object // by kind, such as dcim.site, and number
	counts  map[string]int64            // of the kinds that are not read
	total   int
}

func newExport() *Export {
	return &Export{objects: map[string]map[int64]object{}, counts: map[string]int64{}}
}

// kinds describes the objects that become records, in the order of references.
func kinds() []kind {
	return []kind{
		{"dcim.site", "locations", (*Export).site},
		{"dcim.device", "devices", (*Export).device},
		{"dcim.interface", "interfaces", (*Export).networkInterface},
		{"ipam.vlan", "vlans", (*Export).vlan},
	}
}

// kind is a kind of object that becomes records.
type kind struct {
	model, resource string
	row             func(x *Export, number int64, o object) object
}

// details are the kinds whose names and addresses become fields of others.
var details = []string{"dcim.manufacturer", "dcim.devicetype", "dcim.devicerole", "dcim.platform"}

// addresses are the addresses, of which devices have the primary one.
const addresses = "ipam.ipaddress"

// used reports whether the export keeps the objects of a kind.
func used(model string) bool {
	return model == addresses || slices.Contains(details, model) || slices.ContainsFunc(kinds(), func(k kind) bool { return k.model == model })
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
	return x, nil
}

// add adds an object, or counts it.
func (x *Export) add(model string, number int64, o object) error {
	if !used(model) || number == 0 {
		x.counts[model]++
		return nil
	}
	if x.total++; x.total > maxObjects {
		return fmt.Errorf("netbox: there are more than %d objects", maxObjects)
	}
	if x.objects[model] == nil {
		x.objects[model] = map[int64]object{}
	}
	x.objects[model][number] = o
	return nil
}

// Count is the number of objects of a kind.
type Count struct {
	Kind    string // such as dcim.cable
	Objects int64
}

// Unplaced returns the kinds that have no place in the inventory, the most objects first.
func (x *Export) Unplaced() (all []Count) {
	counts := maps.Clone(x.counts)
	counts[addresses] += int64(len(x.objects[addresses]))
	for model, n := range counts {
		if n > 0 {
			all = append(all, Count{model, n})
		}
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), strings.Compare(a.Kind, b.Kind))
	})
	return all
}

// Source returns the rows for a schema. Their file is the kind and their line the number of the object.
func (x *Export) Source(schema *records.Schema) importer.Source {
	s := &source{export: x}
	for _, k := range kinds() {
		r, ok := schema.Named(k.resource)
		if !ok {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(x.objects[k.model])) {
			s.rows = append(s.rows, func() (*importer.Row, error) { return x.row(k, r, n) })
		}
	}
	return s
}

type source struct {
	export *Export
	rows   []func() (*importer.Row, error)
}

// Next returns the next row.
func (s *source) Next() (*importer.Row, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	next := s.rows[0]
	s.rows = s.rows[1:]
	return next()
}

// row returns the row of an object.
func (x *Export) row(k kind, r *records.Resource, number int64) (*importer.Row, error) {
	values := k.row(x, number, x.objects[k.model][number])
	row := &importer.Row{File: k.model, Line: number, Resource: r, Patch: records.Patch{}}
	for name, value := range values {
		doc, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		row.Patch[name] = doc
	}
	values["_resource"] = r.Name
	line, err := json.Marshal(values)
	row.Text = append(line, '\n')
	return row, err
}

func (x *Export) site(_ int64, o object) object {
	row := object{
		"name": o.text("name"), "address": o.text("physical_address"), "timezone": o.text("time_zone"), "site_code": o.text("slug"),
	}
	if lat, lon := o.decimal("latitude"), o.decimal("longitude"); lat != nil && lon != nil {
		row["lat"], row["lon"] = lat, lon
	}
	return row
}

// siteOf returns the natural key of the site of an object, nil for none.
func (x *Export) siteOf(o object) any {
	site := x.referenced("dcim.site", o["site"])
	if site == nil {
		return nil
	}
	return object{"site_code": site.text("slug")}
}

// deviceStatus are the statuses that the inventory has under another name.
var deviceStatus = map[string]string{
	"planned": "provisioning", "staged": "provisioning", "failed": "offline", "inventory": "offline", "decommissioning": "decommissioned",
}

func (x *Export) device(number int64, o object) object {
	of := x.referenced("dcim.devicetype", o["device_type"])
	status := o.text("status")
	row := object{
		"hostname": x.hostname(number, o), "location": x.siteOf(o), "model": of.text("model"),
		"vendor": x.referenced("dcim.manufacturer", of["manufacturer"]).text("name"),
		"os":     x.referenced("dcim.platform", o["platform"]).text("name"),
		"role":   x.referenced("dcim.devicerole", cmp.Or(o["role"], o["device_role"])).text("name"),
		"status": cmp.Or(deviceStatus[status], status), "serial_number": o.text("serial"), "notes": o.text("comments"),
		"rack_position": o.text("position"),
	}
	address := x.referenced(addresses, cmp.Or(o["primary_ip4"], o["primary_ip6"]))
	row["ip"], _, _ = strings.Cut(address.text("address"), "/")
	return row
}

// hostname returns the name of a device, or what NetBox shows for one without a name.
func (x *Export) hostname(number int64, o object) string {
	of := x.referenced("dcim.devicetype", o["device_type"])
	vendor := x.referenced("dcim.manufacturer", of["manufacturer"])
	return cmp.Or(o.text("name"), fmt.Sprintf("%s %s (%d)", vendor.text("name"), of.text("model"), number))
}

func (x *Export) networkInterface(_ int64, o object) object {
	row := object{
		"name": o.text("name"), "description": o.text("description"), "type": o.text("type"), "mode": o.text("mode"),
		"mac_address": o.text("mac_address"), "mtu": o["mtu"], "device": nil,
	}
	if n := number(o["device"]); x.objects["dcim.device"][n] != nil {
		device := x.objects["dcim.device"][n]
		row["device"] = object{"hostname": x.hostname(n, device), "location": x.siteOf(device)}
	}
	if enabled, ok := o["enabled"].(bool); ok {
		row["admin_status"] = map[bool]string{true: "up", false: "down"}[enabled]
	}
	if kbps := number(o["speed"]); kbps > 0 {
		row["speed"] = strconv.FormatInt(kbps, 10) + "kbps"
	}
	return row
}

func (x *Export) vlan(_ int64, o object) object {
	return object{
		"vlan_id": o["vid"], "name": o.text("name"), "description": o.text("description"), "status": o.text("status"), "location": x.siteOf(o),
	}
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

// number returns a whole number, 0 for none.
func number(v any) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return i
}
