package netbox

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

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
	ends    map[int64][]cableEnd        // by the number of the cable
	tagged  map[tagged][]int64          // the numbers of the tags of objects
	objects map[string]map[int64]object // by kind, such as dcim.site, and number
	counts  map[string]int64            // of the kinds that are not read
	kept    map[string][]string         // the custom fields of KeepUnknown, by resource
	total   int
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
	return &Export{kinds: kinds(), ends: map[int64][]cableEnd{}, tagged: map[tagged][]int64{}, objects: map[string]map[int64]object{}, counts: map[string]int64{}}
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
func (x *Export) add(model string, id int64, o object) error {
	if !x.used(model) || id == 0 {
		x.counts[model]++
		return nil
	}
	if x.total++; x.total > maxObjects {
		return fmt.Errorf("netbox: there are more than %d objects", maxObjects)
	}
	switch model {
	case tags:
		of := tagged{kindOf(o["content_type"]), number(o["object_id"])}
		x.tagged[of] = append(x.tagged[of], number(o["tag"]))
		return nil
	case terminations:
		cable := number(o["cable"])
		x.ends[cable] = append(x.ends[cable], cableEnd{o.text("cable_end"), kindOf(o["termination_type"]), number(o["termination_id"])})
		return nil
	case "dcim.cable":
		x.addEnds(id, o)
	case interfaces:
		vlans, _ := o["tagged_vlans"].([]any)
		for _, vlan := range vlans {
			x.put(taggedVLANs, int64(len(x.objects[taggedVLANs])+1), object{"interface": id, "vlan": plain(vlan)})
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
	for member, side := range map[string]string{"a_terminations": "A", "b_terminations": "B"} {
		ends, _ := o[member].([]any)
		for _, end := range ends {
			if at, ok := end.(map[string]any); ok {
				x.ends[cable] = append(x.ends[cable], cableEnd{side, kindOf(at["object_type"]), number(at["object_id"])})
			}
		}
	}
}

// Unplaced returns the kinds that have no counterpart in the inventory, the most objects first.
func (x *Export) Unplaced() []importer.Count {
	counts := maps.Clone(x.counts)
	for _, k := range x.kinds {
		for number, o := range x.objects[k.model] {
			if x.values(k, number, o) == nil {
				counts[k.model]++
			}
		}
	}
	for model := range named {
		counts[model] += int64(len(x.objects[model]))
	}
	for of, all := range x.tagged {
		if of.model != "dcim.device" {
			counts[tags] += int64(len(all))
		}
	}
	for _, o := range x.objects[interfaces] {
		for _, member := range []string{"lag", "parent"} {
			if o[member] != nil && x.besides(o, member) == nil {
				counts[interfaces+" "+member+" of another device"]++
			}
		}
	}
	return importer.Counts(counts)
}

// Source returns the rows for a schema. Their file is the kind and their line the number of the object.
func (x *Export) Source(schema *records.Schema) importer.Source {
	var rows []func() (*importer.Row, error)
	for _, k := range x.kinds {
		r, ok := schema.Named(k.resource)
		if !ok {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(x.objects[k.model])) {
			if x.values(k, n, x.objects[k.model][n]) == nil {
				continue
			}
			rows = append(rows, func() (*importer.Row, error) { return x.row(k, r, n) })
		}
	}
	return importer.Rows(len(rows), func(i int) (*importer.Row, error) { return rows[i]() })
}

// row returns the row of an object.
func (x *Export) row(k kind, r *records.Resource, number int64) (*importer.Row, error) {
	o := x.objects[k.model][number]
	values := x.values(k, number, o)
	x.keep(values, k, r, number, o)
	line := number
	if k.model == taggedVLANs {
		line = o["interface"].(int64)
	}
	row, err := importer.NewRow(k.model, int(line), r, values)
	if err == nil {
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

// number returns a whole number, 0 for none.
func number(v any) int64 {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return i
}
