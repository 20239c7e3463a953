package drift

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The sizes of queries.
const (
	maxValues = 500  // of a filter
	pageSize  = 1000 // records
)

// each iterates over the records whose field has one of some values.
func each(ctx context.Context, from records.Reader, r *records.Resource, field string, values []string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		for chunk := range slices.Chunk(values, maxValues) {
			for rec, err := range records.All(ctx, from, (&records.Query{Resource: r, Limit: pageSize}).WhereIn(field, chunk)) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

// readOwn reads the devices of the tables, their interfaces, and the links of these with what they lead to.
func (c *comparison) readOwn(ctx context.Context, tables []Table) error {
	var ids, talking []string
	for _, t := range tables {
		if !slices.Contains(ids, t.DeviceID) {
			ids = append(ids, t.DeviceID)
		}
		if t.Kind == Neighbors {
			talking = append(talking, t.DeviceID)
		}
	}
	if err := c.readDevices(ctx, ids); err != nil {
		return err
	}
	for rec, err := range each(ctx, c.from, records.Of[inventory.Interface](c.from.Schema()), "device_id", ids) {
		if err != nil {
			return err
		}
		if len(c.interfaces) == maxRecords {
			return tooMany(fmt.Sprintf("the devices of the tables have more than %d interfaces", maxRecords))
		}
		i := rec.(*inventory.Interface)
		c.interfaces[i.ID] = i
		c.own[i.DeviceID] = append(c.own[i.DeviceID], i)
	}
	if err := c.readLinks(ctx, talking); err != nil {
		return err
	}
	return c.readChassis(ctx, tables)
}

func (c *comparison) readDevices(ctx context.Context, ids []string) error {
	for rec, err := range each(ctx, c.from, records.Of[inventory.Device](c.from.Schema()), "id", ids) {
		if err != nil {
			return err
		}
		c.devices[rec.Meta().ID] = rec.(*inventory.Device)
	}
	return nil
}

// readLinks reads the links of devices, and the interfaces and devices at their other ends.
func (c *comparison) readLinks(ctx context.Context, devices []string) error {
	var ids, remote []string
	for _, device := range devices {
		for _, i := range c.own[device] {
			ids = append(ids, i.ID)
		}
	}
	seen := map[string]bool{}
	for _, field := range []string{"a_interface_id", "b_interface_id"} {
		for rec, err := range each(ctx, c.from, records.Of[inventory.Link](c.from.Schema()), field, ids) {
			if err != nil {
				return err
			}
			link := rec.(*inventory.Link)
			if seen[link.ID] {
				continue
			}
			if len(seen) == maxRecords {
				return tooMany(fmt.Sprintf("the devices of the tables have more than %d links", maxRecords))
			}
			seen[link.ID] = true
			for _, id := range []string{link.AInterfaceID, link.BInterfaceID} {
				c.links[id] = append(c.links[id], link)
				if c.interfaces[id] == nil {
					remote = append(remote, id)
				}
			}
		}
	}
	unknown := map[string]bool{}
	for rec, err := range each(ctx, c.from, records.Of[inventory.Interface](c.from.Schema()), "id", remote) {
		if err != nil {
			return err
		}
		i := rec.(*inventory.Interface)
		c.interfaces[i.ID] = i
		if c.devices[i.DeviceID] == nil {
			unknown[i.DeviceID] = true
		}
	}
	return c.readDevices(ctx, slices.Sorted(maps.Keys(unknown)))
}

// readChassis reads the interfaces whose MAC addresses neighbours have sent as the id of a chassis or a port, and
// their devices.
func (c *comparison) readChassis(ctx context.Context, tables []Table) error {
	var sent []string
	for _, t := range tables {
		for _, n := range t.Neighbors {
			for _, text := range []string{n.ChassisID, n.Port} {
				if mac, ok := discovery.MAC(text); ok {
					sent = append(sent, mac)
				}
			}
		}
	}
	slices.Sort(sent)
	sent = slices.Compact(sent)
	count, owners := 0, map[string]bool{}
	for rec, err := range each(ctx, c.from, records.Of[inventory.Interface](c.from.Schema()), "mac_address", sent) {
		if err != nil {
			return err
		}
		if count++; count > maxRecords {
			return tooMany(fmt.Sprintf("more than %d interfaces have MAC addresses that neighbours have sent", maxRecords))
		}
		i := rec.(*inventory.Interface)
		c.byMAC[i.MACAddress] = append(c.byMAC[i.MACAddress], i)
		if c.devices[i.DeviceID] == nil {
			owners[i.DeviceID] = true
		}
	}
	return c.readDevices(ctx, slices.Sorted(maps.Keys(owners)))
}

// maxLookups is the number of names up to which devices are looked up in the order of their names. With more, or
// with letters that this order does not fold, all devices are read.
const maxLookups = 200

// readNamed returns the devices that have one of some names, by the first label of the name.
func (c *comparison) readNamed(ctx context.Context, names []string) (map[string][]*inventory.Device, error) {
	wanted := map[string][]*inventory.Device{}
	foreign := false
	for _, name := range names {
		if label := discovery.HostLabel(name); label != "" {
			wanted[label] = nil
			foreign = foreign || strings.ContainsFunc(label, func(r rune) bool { return r > unicode.MaxASCII })
		}
	}
	count := 0
	add := func(rec records.Record) error {
		device := rec.(*inventory.Device)
		label := discovery.HostLabel(device.Hostname)
		if _, ok := wanted[label]; !ok {
			return nil
		}
		if count++; count > maxRecords {
			return tooMany(fmt.Sprintf("more than %d devices have names as those of neighbours", maxRecords))
		}
		wanted[label] = append(wanted[label], device)
		return nil
	}
	switch {
	case len(wanted) == 0:
		return wanted, nil
	case len(wanted) > maxLookups || foreign:
		for rec, err := range records.All(ctx, c.from, &records.Query{Resource: records.Of[inventory.Device](c.from.Schema()), Limit: pageSize}) {
			if err == nil {
				err = add(rec)
			}
			if err != nil {
				return nil, err
			}
		}
		return wanted, nil
	}
	for _, label := range slices.Sorted(maps.Keys(wanted)) {
		for _, rest := range []string{"", ".", "("} { // sw1, sw1.example.org, and sw1(FOX1234) of CDP
			if err := c.lookUp(ctx, label, rest, add); err != nil {
				return nil, err
			}
		}
	}
	return wanted, nil
}

// lookUp calls add with the devices whose hostname is a label, or begins with it and what follows.
func (c *comparison) lookUp(ctx context.Context, label, follows string, add func(records.Record) error) error {
	r := records.Of[inventory.Device](c.from.Schema())
	hostname, _ := r.Field("hostname")
	q := &records.Query{Resource: r, Limit: 50, Sort: []records.SortKey{{Field: hostname}}, After: &records.Place{Values: []any{label + follows}}}
	for rec, err := range records.All(ctx, c.from, q) {
		if err != nil {
			return err
		}
		name := records.FoldASCII(rec.(*inventory.Device).Hostname)
		switch {
		case name == label && follows == "", follows != "" && strings.HasPrefix(name, label+follows):
			if err := add(rec); err != nil {
				return err
			}
		case records.NaturalKey(name) != records.NaturalKey(label) || follows != "": // sw01 is between sw1 and sw1
			return nil
		}
	}
	return nil
}

// readPorts adds the interfaces of devices that have one of some names, by device and key of the name.
func (c *comparison) readPorts(ctx context.Context, wanted map[string]map[string]*inventory.Interface) error {
	ids := slices.Sorted(maps.Keys(wanted))
	for rec, err := range each(ctx, c.from, records.Of[inventory.Interface](c.from.Schema()), "device_id", ids) {
		if err != nil {
			return err
		}
		i := rec.(*inventory.Interface)
		ports, key := wanted[i.DeviceID], discovery.InterfaceKey(i.Name)
		if known, ok := ports[key]; ok && known == nil { // the first of equal names
			ports[key] = i
		}
	}
	return nil
}
