package collect

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of IDs of LldpPortIdSubtype (IEEE 802.1AB). The same kinds of LldpChassisIdSubtype are one higher.
const (
	idMAC     = 3
	idNetwork = 4
	idIfName  = 5
	idLocal   = 7
)

// localPort is a row of lldpLocPortTable.
type localPort struct {
	kind        int64 // of the ID
	id          []byte
	description string
}

var localPortColumns = []cells[localPort]{
	{column{"lldpLocPortIdSubtype", "1.0.8802.1.1.2.1.3.7.1.2"}, func(p *localPort, v value) { p.kind = v.number() }},
	{column{"lldpLocPortId", "1.0.8802.1.1.2.1.3.7.1.3"}, func(p *localPort, v value) { p.id = slices.Clone(v.raw()) }},
	{column{"lldpLocPortDesc", "1.0.8802.1.1.2.1.3.7.1.4"}, func(p *localPort, v value) { p.description = v.text() }},
}

// remoteSystem is a row of lldpRemTable.
type remoteSystem struct {
	chassisKind, portKind            int64
	chassis, port                    []byte
	portDescription, name, reachable string

	listed bool // the first column has it
}

var remoteColumns = []cells[remoteSystem]{
	{column{"lldpRemChassisIdSubtype", "1.0.8802.1.1.2.1.4.1.1.4"}, func(n *remoteSystem, v value) { n.chassisKind, n.listed = v.number(), true }},
	{column{"lldpRemChassisId", "1.0.8802.1.1.2.1.4.1.1.5"}, func(n *remoteSystem, v value) { n.chassis = slices.Clone(v.raw()) }},
	{column{"lldpRemPortIdSubtype", "1.0.8802.1.1.2.1.4.1.1.6"}, func(n *remoteSystem, v value) { n.portKind = v.number() }},
	{column{"lldpRemPortId", "1.0.8802.1.1.2.1.4.1.1.7"}, func(n *remoteSystem, v value) { n.port = slices.Clone(v.raw()) }},
	{column{"lldpRemPortDesc", "1.0.8802.1.1.2.1.4.1.1.8"}, func(n *remoteSystem, v value) { n.portDescription = v.text() }},
	{column{"lldpRemSysName", "1.0.8802.1.1.2.1.4.1.1.9"}, func(n *remoteSystem, v value) { n.name = v.text() }},
}

var managementAddresses = column{"lldpRemManAddrIfSubtype", "1.0.8802.1.1.2.1.4.2.1.3"}

// remoteKey identifies a remote system: the number of the local port, and that of the system there.
type remoteKey [2]uint32

// readNeighbors reads the tables of LLDP-MIB.
func readNeighbors(s *session, r *Result) {
	ports, remotes := readTable(s, localPortColumns, onlyIndex), readRemoteSystems(s)
	if len(ports) == 0 && len(remotes) == 0 {
		r.absent("LLDP-MIB")
		return
	}
	names := newPortNames(r.Interfaces, ports)
	r.Neighbors = []Neighbor{}
	for _, key := range slices.SortedFunc(maps.Keys(remotes), func(a, b remoteKey) int { return slices.Compare(a[:], b[:]) }) {
		n := remotes[key]
		r.Neighbors = append(r.Neighbors, Neighbor{
			Interface: names.of(key[0]), Name: n.name, ChassisID: identifier(n.chassisKind-1, n.chassis),
			Port: identifier(n.portKind, n.port), PortDescription: n.portDescription, Address: n.reachable,
		})
	}
}

// readRemoteSystems reads lldpRemTable, whose index is the time of a change, the local port and the number of
// the system, and the management addresses of its rows.
func readRemoteSystems(s *session) map[remoteKey]*remoteSystem {
	remotes := readTable(s, remoteColumns, func(index []uint32) (key remoteKey, ok bool) {
		if len(index) != 3 {
			return key, false
		}
		return remoteKey(index[1:]), true
	})
	// A system that has appeared meanwhile has no values of the first columns.
	maps.DeleteFunc(remotes, func(_ remoteKey, n *remoteSystem) bool { return !n.listed })
	s.walk(managementAddresses, func(index []uint32, _ value) {
		if len(index) < 5 || uint64(len(index)-5) != uint64(index[4]) {
			return
		}
		remote := remotes[remoteKey(index[1:3])]
		if remote != nil && remote.reachable == "" {
			remote.reachable = networkAddress(index[3], bytesOf(index[5:]))
		}
	})
	return remotes
}

// bytesOf returns the bytes of an address in an index, or nil.
func bytesOf(index []uint32) []byte {
	b := make([]byte, len(index))
	for i, n := range index {
		if n > 255 {
			return nil
		}
		b[i] = byte(n)
	}
	return b
}

// identifier returns the ID of a chassis or a port as a text: addresses in their notation, and bytes that
// are no text in hexadecimal digits.
func identifier(kind int64, id []byte) string {
	switch {
	case kind == idMAC && mac(id) != "":
		return mac(id)
	case kind == idNetwork && len(id) > 0 && networkAddress(uint32(id[0]), id[1:]) != "":
		return networkAddress(uint32(id[0]), id[1:])
	case !isText(id):
		return hex.EncodeToString(id)
	}
	return line(id)
}

// isText reports whether an ID is text. Some devices end it with zeros.
func isText(id []byte) bool {
	text := strings.TrimRight(string(id), "\x00")
	return !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
}

// portNames finds the names of interfaces by the numbers of ports of LLDP.
type portNames struct {
	ports   map[uint32]*localPort
	byIndex map[string]string // names of interfaces, by ifIndex in decimal digits
	byMAC   map[string]string // "" if several have the address
	names   map[string]string // by ifName and ifDescr
}

func newPortNames(interfaces []Interface, ports map[uint32]*localPort) *portNames {
	p := &portNames{ports: ports, byIndex: map[string]string{}, byMAC: map[string]string{}, names: map[string]string{}}
	for _, i := range interfaces {
		p.byIndex[strconv.FormatUint(uint64(i.IfIndex), 10)] = i.Name
		if _, shared := p.byMAC[i.MAC]; shared {
			p.byMAC[i.MAC] = ""
		} else {
			p.byMAC[i.MAC] = i.Name
		}
		p.names[i.descr] = i.Name
	}
	for _, i := range interfaces { // ifName counts before the ifDescr of another one
		p.names[i.Name] = i.Name
	}
	delete(p.names, "")
	delete(p.byMAC, "")
	return p
}

// of returns the name of the interface of a port. Devices differ in which object has it: the ID of the port,
// its description, the interface with the address that is the ID, or the one whose ifIndex is the ID
// or the number of the port.
func (p *portNames) of(number uint32) string {
	decimal := strconv.FormatUint(uint64(number), 10)
	port := cmp.Or(p.ports[number], &localPort{})
	id := identifier(port.kind, port.id)
	ofLocal, ofMAC, ofName := "", "", ""
	switch port.kind {
	case idLocal:
		ofLocal = p.byIndex[id]
	case idMAC:
		ofMAC = p.byMAC[id]
	case idIfName:
		ofName = id
	}
	return cmp.Or(p.names[id], ofName, p.names[port.description], ofLocal, ofMAC, p.byIndex[decimal], port.description, id, decimal)
}
