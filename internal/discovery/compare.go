package discovery

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Expected is a neighbour that a device should hear on an interface.
type Expected struct {
	ID        string   // identifies it in differences, such as the id of a link
	Interface string   // of the device that hears
	Host      string   // the name of the neighbour
	MACs      []string // addresses of the neighbour, one of which may be the chassis ID; in any notation
	Port      string   // the name of the interface of the neighbour
	PortMAC   string   // its address, which may be the port ID
}

// Kind classifies a difference between the found and the expected.
type Kind string

// The kinds of differences.
const (
	Missing    Kind = "missing"    // an expected neighbour is not heard
	Unexpected Kind = "unexpected" // a neighbour is heard that is not expected
	Different  Kind = "different"  // another neighbour or port than expected is heard on an interface
)

// Difference is a difference at one interface.
type Difference struct {
	Kind      Kind
	Interface string    // as it is expected, or else as it was found
	Expected  *Expected // nil if unexpected
	Found     *Neighbor // nil if missing
	Fields    []string  // what is different: neighbor, port
}

// Compare returns the differences of a table of one device, in the order of the expected neighbours, and
// then of the others. Neighbours that are found twice, by LLDP and by CDP, count once. A neighbour whose
// port was not reported has the expected port.
func Compare(found []Neighbor, expected []Expected) []Difference {
	var order []string // the keys of interfaces
	wanted, heard := map[string][]*Expected{}, map[string][]*Neighbor{}
	for i := range expected {
		key := InterfaceKey(expected[i].Interface)
		order, wanted[key] = append(order, key), append(wanted[key], &expected[i])
	}
	for i := range found {
		key := InterfaceKey(found[i].Interface)
		order, heard[key] = append(order, key), append(heard[key], &found[i])
	}
	var all []Difference
	for _, key := range order {
		all = append(all, compareInterface(heard[key], wanted[key])...)
		delete(heard, key)
		delete(wanted, key)
	}
	return all
}

// compareInterface returns the differences at one interface.
func compareInterface(found []*Neighbor, expected []*Expected) (all []Difference) {
	met := make([]bool, len(expected))
	var others []*Neighbor
	var hosts, ports []string // their keys: there may be thousands
	for _, n := range found {
		matches := false
		for i, e := range expected {
			if e.sameNeighbor(n) && e.samePort(n) {
				met[i], matches = true, true
			}
		}
		host, port := hostKey(n.Name), InterfaceKey(n.Port)
		for i := range hosts { // the same by another protocol
			matches = matches || ports[i] == port && sameKey(hosts[i], host)
		}
		if !matches {
			others, hosts, ports = append(others, n), append(hosts, host), append(ports, port)
		}
	}
	pair := func(match func(e *Expected, n *Neighbor) bool, fields ...string) {
		for i, e := range expected {
			for j, n := range others {
				if !met[i] && n != nil && match(e, n) {
					met[i], others[j] = true, nil
					all = append(all, Difference{Different, e.Interface, e, n, fields})
				}
			}
		}
	}
	pair((*Expected).sameNeighbor, "port")
	pair((*Expected).samePort, "neighbor")
	pair(func(*Expected, *Neighbor) bool { return true }, "neighbor", "port")
	for i, e := range expected {
		if !met[i] {
			all = append(all, Difference{Kind: Missing, Interface: e.Interface, Expected: e})
		}
	}
	for _, n := range others {
		if n != nil {
			all = append(all, Difference{Kind: Unexpected, Interface: n.Interface, Found: n})
		}
	}
	return all
}

// sameNeighbor reports whether a neighbour is the expected one, by its name or its chassis.
func (e *Expected) sameNeighbor(n *Neighbor) bool {
	return SameHost(e.Host, n.Name) || n.cut && strings.HasPrefix(hostKey(e.Host), hostKey(n.Name)) ||
		slices.ContainsFunc(e.MACs, func(mac string) bool { return sameMAC(mac, n.ChassisID) })
}

// samePort reports whether a port is the expected one, as far as it was reported.
func (e *Expected) samePort(n *Neighbor) bool {
	ports, key := n.PortNames(), InterfaceKey(e.Port)
	return len(ports) == 0 || sameMAC(e.PortMAC, n.Port) ||
		slices.ContainsFunc(ports, func(port string) bool { return InterfaceKey(port) == key })
}

// wholePort matches a port ID that is the name of an interface, and not a number or the beginning of a name.
var wholePort = regexp.MustCompile(`[^\d].*\d$`)

// PortNames returns the names that the port of a neighbour may have, the likeliest first: its ID; its description;
// and the words of one such as "HUAWEI, GigabitEthernet0/0/5 Interface", or of any if the ID is a MAC address, a
// number, or does not end with a digit, as where a device cuts it. Descriptions have at most 255 bytes in LLDP.
func (n *Neighbor) PortNames() []string {
	text := n.PortDescription[:min(len(n.PortDescription), 255)]
	all := []string{n.Port, text}
	if _, isMAC := MAC(n.Port); isMAC || !wholePort.MatchString(n.Port) || strings.HasSuffix(text, " Interface") {
		words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;"'()`, r) })
		all = append(all, words[:min(len(words), 16)]...)
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

func sameMAC(a, b string) bool {
	x, ok := MAC(a)
	y, ok2 := MAC(b)
	return ok && ok2 && x == y
}
