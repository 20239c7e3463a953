package discovery

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Neighbor is a device that another one hears on an interface. Strings are as the device reports them;
// an empty one was not reported.
type Neighbor struct {
	Interface       string // of the device that hears
	Name            string // of the neighbour: the system name of LLDP, or the device ID of CDP
	ChassisID       string // often a MAC address
	Port            string // the port ID of the neighbour: the name of an interface, or a MAC address
	PortDescription string // often the name of the interface, where the port ID is none
	Address         string // for management: the first one
	Protocol        string // such as lldp, if the caller has set it

	cut bool // the name is only its beginning, which fills a column
}

// The bounds of a table.
const (
	// MaxBytes is the maximum size in bytes of a table.
	MaxBytes = 4 << 20
	// MaxNeighbors is the maximum number of neighbours of a table.
	MaxNeighbors = 10_000
)

var errTooLarge = fmt.Errorf("has more than %d bytes: send the table of one device", MaxBytes)

// field is a value of a neighbour, or what else a column has.
type field int

const (
	local field = iota + 1
	name
	chassis
	port
	description
	address
	hold // the time for which the row is held
	platform
	other
)

// at returns a field of a neighbour.
func (n *Neighbor) at(f field) *string {
	return []*string{local: &n.Interface, name: &n.Name, chassis: &n.ChassisID, port: &n.Port, description: &n.PortDescription, address: &n.Address}[f]
}

// names are the names of fields in detailed outputs and the titles of columns, in lower case and with blanks for
// hyphens.
var names = map[string]field{
	"local intf": local, "local interface": local, "local intrfce": local, "local port": local, "localport": local, "local port id": local,
	"port": local, "interface": local, "port.txt": local, "system name": name, "neighbor system name": name, "neighbor chassis name": name,
	"sysname": name, "system.name.data": name, "device id": name, "neighbor device id": name, "remotedevice": name, "neighbor name": name,
	"chassis id": chassis, "neighbor chassis id": chassis, "chassisid": chassis, "chassis.data": chassis, "port id": port, "portid": port,
	"neighbor port id": port, "remoteportid": port, "device port": port, "neighbor port": port, "port info": port, "port.id.data": port,
	"port description": description, "port desc": description, "neighbor port desc": description, "portdescr": description,
	"remoteportdescr": description, "port.desc.data": description, "ip": address, "ip address": address, "ipv4 address": address,
	"ipv6 address": address, "address": address, "address.1.addr": address, "management address": address, "management addresses": address,
	"management address value": address, "management ip address": address, "neighbor management address": address,
	"hold time": hold, "holdtme": hold, "hldtme": hold, "platform": platform, "parent interface": other, "ttl": other, "capability": other,
	"capabilities": other, "remid": other, "ap name": other, "ap ip": other, "neighbor ip": other,
}

// text is a parser of outputs. In a detailed one each line is a field, and a field that a neighbour has already
// begins the next one. In a table each line is a row.
type text struct {
	found   []Neighbor
	lines   []int // where each begins
	line    int
	current *Neighbor
	cdp     bool     // the name is a device ID, which a system name replaces
	manage  bool     // the next address is one for management, which replaces that of the interface
	columns []column // of the table, nil outside of one
	titled  bool     // there was a table
	pending string   // the name of the row that follows
}

var (
	// dotted is a field without a colon: "Port ID .... 1" of Allied Telesis, "Port Description = 1," of Alcatel.
	dotted = regexp.MustCompile(`^([^:]*?) +(?:\.{2,}|=) ?(.*?),?$`)
	// headed is the line before the neighbours of an interface: of VRP, Allied Telesis, EOS, Comware and Alcatel.
	headed = regexp.MustCompile(`^(\S+) has \d+ neighbors?(?:\(s\))?:?$|^Local (port\d\S*):$|^Interface (\S+) detected \d+ LLDP neighbors?:$|` +
		`^LLDP neighbor-information of port \d+\[(\S+)\]:$|^Remote LLDP .*Agents on Local (?:Slot/)?Port (\S+):$`)
	// next is the line before a neighbour of such an interface: of EOS, and with its values of Alcatel.
	next = regexp.MustCompile(`^Neighbor \S+/.*, age .*$|^Chassis (\S+), Port (.+):$`)
	// noEntries is the line of a table in which nothing is heard.
	noEntries = regexp.MustCompile(`(?mi)^\s*(?:Total (?:CDP |LLDP )?(?:Neighbor )?entries (?:displayed)? *: 0|\S+ has 0 neighbors?(?:\(s\))?:?|` +
		`Interface \S+ detected 0 LLDP neighbors?:|Neighbor information:)\s*$`)
	qualifier = regexp.MustCompile(` *\([^)]*\)$`)
)

const sendDetail = "send the output of a command that lists neighbours with the interfaces that hear them, such as show lldp neighbors detail"

var (
	errNoInterface = errors.New("without a local interface: " + sendDetail)
	errColumns     = errors.New("does not fit the columns of the table: send the output as the device displays it")
)

// ParseText reads the output of a command such as "show lldp neighbors detail", "show cdp neighbors detail"
// or "show lldp neighbors". The error says why the text is no such output: it is larger than [MaxBytes], has
// more than [MaxNeighbors] neighbours or none, a neighbour without a local interface, or a line that does
// not fit its table.
func ParseText(output string) ([]Neighbor, error) {
	if len(output) > MaxBytes {
		return nil, errTooLarge
	}
	p := &text{}
	for line := range strings.SplitSeq(output, "\n") {
		p.line++
		in, err := p.readTable(strings.TrimRight(line, " \t\r"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
		if !in {
			p.readField(strings.TrimSpace(line))
		}
		if len(p.found) > MaxNeighbors {
			return nil, fmt.Errorf("line %d: has more than %d neighbours: send the table of one device", p.line, MaxNeighbors)
		}
	}
	var found []Neighbor
	for i, n := range p.found {
		if short, ok := strings.CutSuffix(n.Name, "..."); ok {
			n.Name, n.cut = strings.TrimSpace(short), true
		}
		if _, ok := MAC(n.Name); ok && n.ChassisID == "" {
			n.ChassisID = n.Name
		}
		switch {
		case n == (Neighbor{Interface: n.Interface}): // a heading
		case n.Interface == "":
			return nil, fmt.Errorf("line %d: a neighbour %w", p.lines[i], errNoInterface)
		default:
			found = append(found, n)
		}
	}
	if p.pending != "" {
		return nil, errColumns
	}
	if len(found) == 0 && !p.titled && !noEntries.MatchString(output) {
		return nil, errors.New("has no neighbours in a form that is read: " + sendDetail)
	}
	return found, nil
}

// readField reads a line of a detailed output.
func (p *text) readField(line string) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "+ "), "- ")
	if m := headed.FindStringSubmatch(line); m != nil {
		p.begin(Neighbor{Interface: strings.Join(m[1:], "")})
		return
	}
	if m := next.FindStringSubmatch(line); m != nil && p.current != nil {
		p.next()
		p.current.ChassisID, p.current.Port = m[1], m[2]
		return
	}
	if before, after, ok := strings.Cut(line, ","); ok && strings.HasPrefix(strings.TrimSpace(after), "Port ID (outgoing port)") { // CDP
		p.readField(before)
		line = after
	}
	key, value, ok := strings.Cut(line, ":")
	if m := dotted.FindStringSubmatch(line); m != nil {
		key, value, ok = m[1], m[2], true
	}
	if ok && !strings.Contains(value, " -- -- ") { // a legend of Comware
		key = qualifier.ReplaceAllString(strings.TrimSpace(key), "")
		if _, after, _ := strings.Cut(key, " "); strings.Contains(after, ".") { // FortiSwitch: "1 port.txt"
			key = after
		}
		p.set(normal(key), value)
	}
}

// normal returns a name of a field as in names.
func normal(key string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(key, "-", " "))), " ")
}

// begin begins a neighbour.
func (p *text) begin(n Neighbor) {
	p.found, p.lines = append(p.found, n), append(p.lines, p.line)
	p.current, p.cdp, p.manage = &p.found[len(p.found)-1], false, false
}

// next begins a further neighbour on the same interface, if the current one has values.
func (p *text) next() {
	if n := (Neighbor{Interface: p.current.Interface}); *p.current != n {
		p.begin(n)
	}
}

// set sets a field by its name in the output. The first value counts: what follows may be the text of a
// description.
func (p *text) set(key, value string) {
	value = present(value)
	if p.current == nil && value != "" && starts(key) {
		p.begin(Neighbor{})
	}
	if p.current == nil {
		return
	}
	switch key {
	case "neighbor index", "lldp neighbor index", "neighbor":
		p.next()
		return
	case "device id":
		if *p.current != (Neighbor{Interface: p.current.Interface}) || p.cdp {
			p.begin(Neighbor{})
		}
		p.cdp = true
	case "system name", "neighbor system name", "sysname":
		if p.cdp && value != "" {
			p.current.Name, p.cdp = "", false
		}
	}
	f := names[key]
	switch {
	case value == "" && (key == "mgmt address" || key == "management address"):
		p.manage = true
		return
	case f == 0 || f > address || value == "":
		return
	case f == address && p.manage:
		p.current.Address, p.manage = "", false
	}
	if *p.current.at(f) != "" && starts(key) {
		p.begin(Neighbor{})
	}
	if at := p.current.at(f); *at == "" {
		*at = value
	}
}

// starts reports whether a neighbour that has this field already is another one.
func starts(key string) bool {
	return slices.Contains([]string{"local intf", "local interface", "local port", "port", "port.txt", "chassis id", "device id"}, key)
}

// present returns a value without quotes, and nothing for the words for none.
func present(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		value = strings.TrimSpace(value[1 : len(value)-1])
	}
	switch strings.ToLower(strings.Trim(value, "[]-() ")) {
	case "", "not advertised", "null", "n/a", "none":
		return ""
	}
	return value
}
