package discovery

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Port is an interface as a device reports it, or as it is expected. An empty field is not known.
type Port struct {
	ID          string // identifies an expected one in differences; not compared
	Name        string
	Description string
	MAC         string     // in any notation
	Address     netip.Addr // of the interface, without the length of its prefix
	MTU         int64      // bytes
	State       string     // of the link: up or down
}

// portNames are the names of fields in the tables of ntc-templates and of NAPALM.
var portNames = struct{ name, description, mac, address, mtu, state []string }{
	name:        []string{"interface", "name"},
	description: []string{"description", "interface_description"},
	mac:         []string{"mac_address", "hw_address", "bia", "address"},
	address:     []string{"ip_address"},
	mtu:         []string{"mtu"},
	state:       []string{"link_status", "line_status"},
}

// ParseInterfaces reads a parsed table of interfaces: an array of objects as ntc-templates has them, or an
// object with an object for each interface as NAPALM has them (get_interfaces), which may be the only member
// of another object. Values that are no address, MTU or state are left out, because devices have words for
// none. The error says why the document is no such table: it is larger than [MaxBytes], has more than
// [MaxNeighbors] interfaces, or one without a name.
func ParseInterfaces(doc []byte) ([]Port, error) {
	rows, err := readRows(doc, "object", "get_interfaces", "interface")
	if err != nil {
		return nil, err
	}
	if len(rows) > MaxNeighbors {
		return nil, fmt.Errorf("has %d interfaces: send the table of one device, with at most %d", len(rows), MaxNeighbors)
	}
	ports := []Port{}
	for i, row := range rows {
		p := Port{Name: first(row, portNames.name), Description: first(row, portNames.description), State: stateOf(row)}
		if p.Name == "" {
			return nil, fmt.Errorf("[%d]: has no interface", i)
		}
		if mac, ok := MAC(first(row, portNames.mac)); ok {
			p.MAC = mac
		}
		address, _, _ := strings.Cut(first(row, portNames.address), "/")
		if addr, err := netip.ParseAddr(address); err == nil {
			p.Address = addr.Unmap()
		}
		if n, ok := row["mtu"].(float64); ok && n > 0 && n < 1<<32 {
			p.MTU = int64(n)
		} else if n, err := strconv.ParseInt(first(row, portNames.mtu), 10, 64); err == nil && n > 0 {
			p.MTU = n
		}
		ports = append(ports, p)
	}
	return ports, nil
}

// stateOf returns the state of the link, without the reason that some devices add.
func stateOf(row map[string]any) string {
	if up, ok := row["is_up"].(bool); ok {
		return map[bool]string{true: "up", false: "down"}[up]
	}
	words := strings.FieldsFunc(strings.ToLower(first(row, portNames.state)), func(r rune) bool { return strings.ContainsRune(" (,", r) })
	switch state := append(words, "")[0]; state {
	case "up", "down":
		return state
	case "administratively":
		return "down"
	}
	return ""
}

// PortDifference is a difference of one interface.
type PortDifference struct {
	Kind     Kind
	Name     string   // as it is expected, or else as it was found
	Expected *Port    // nil if unexpected
	Found    *Port    // nil if missing
	Fields   []string // what is different: description, mac_address, ip_address, mtu, state
}

// CompareInterfaces returns the differences of a table of one device, in the order of the expected
// interfaces, and then of the others. Fields are compared where both are known.
func CompareInterfaces(found, expected []Port) []PortDifference {
	byName := map[string]*Port{}
	for i := range found {
		byName[InterfaceKey(found[i].Name)] = &found[i]
	}
	var all []PortDifference
	known := map[string]bool{}
	for i := range expected {
		e := &expected[i]
		key := InterfaceKey(e.Name)
		known[key] = true
		f := byName[key]
		if f == nil {
			all = append(all, PortDifference{Kind: Missing, Name: e.Name, Expected: e})
		} else if fields := e.differs(f); len(fields) > 0 {
			all = append(all, PortDifference{Different, e.Name, e, f, fields})
		}
	}
	for i := range found {
		if key := InterfaceKey(found[i].Name); !known[key] {
			known[key] = true
			all = append(all, PortDifference{Kind: Unexpected, Name: found[i].Name, Found: &found[i]})
		}
	}
	return all
}

// differs returns the fields that are known of both and differ.
func (p *Port) differs(f *Port) (fields []string) {
	add := func(name string, known, differs bool) {
		if known && differs {
			fields = append(fields, name)
		}
	}
	add("description", p.Description != "" && f.Description != "", p.Description != f.Description)
	add("mac_address", p.MAC != "" && f.MAC != "", !sameMAC(p.MAC, f.MAC))
	add("ip_address", p.Address.IsValid() && f.Address.IsValid(), p.Address.Unmap() != f.Address.Unmap())
	add("mtu", p.MTU != 0 && f.MTU != 0, p.MTU != f.MTU)
	add("state", p.State != "" && f.State != "", p.State != f.State)
	return fields
}
