package discovery

import (
	"errors"
	"fmt"
	"regexp"
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
}

// The bounds of a table.
const (
	// MaxBytes is the maximum size in bytes of a table.
	MaxBytes = 4 << 20
	// MaxNeighbors is the maximum number of neighbours of a table.
	MaxNeighbors = 10_000
)

var errTooLarge = fmt.Errorf("has more than %d bytes: send the table of one device", MaxBytes)

// text is a parser of a detailed output. Each line is a field, and a field that a neighbour has already
// begins the next one.
type text struct {
	found   []Neighbor
	lines   []int // where each begins
	line    int
	current *Neighbor
	cdp     bool // the name is a device ID, which a system name replaces
	manage  bool // the next address is one for management, which replaces that of the interface
}

var (
	dotted     = regexp.MustCompile(`^(.*?) \.{2,} ?(.*)$`)                                                     // Allied Telesis: "Port ID .... 1"
	headed     = regexp.MustCompile(`^(\S+) has (\d+) neighbors?(?:\(s\))?:?$`)                                 // Huawei
	localPort  = regexp.MustCompile(`^Local (port\d\S*):$`)                                                     // Allied Telesis
	connection = regexp.MustCompile(`^Interface: *([^,]+), *Port ID \(outgoing port\): *(.*)$`)                 // CDP
	noEntries  = regexp.MustCompile(`(?mi)^\s*Total (?:CDP |LLDP )?(?:Neighbor )?entries (?:displayed)? *: 0$`) // nothing is heard
	qualifier  = regexp.MustCompile(` *\([^)]*\)$`)
)

// ParseText reads the output of a command such as "show lldp neighbors detail" or "show cdp neighbors
// detail". The error says why the text is no such output: it is larger than [MaxBytes], has more than
// [MaxNeighbors] neighbours or none, or the line of a neighbour without a local interface.
func ParseText(output string) ([]Neighbor, error) {
	if len(output) > MaxBytes {
		return nil, errTooLarge
	}
	p := &text{}
	for line := range strings.SplitSeq(output, "\n") {
		p.line++
		p.read(strings.TrimSpace(line))
		if len(p.found) > MaxNeighbors {
			return nil, fmt.Errorf("line %d: has more than %d neighbours: send the table of one device", p.line, MaxNeighbors)
		}
	}
	var found []Neighbor
	for i, n := range p.found {
		switch {
		case n == (Neighbor{Interface: n.Interface}): // a heading
		case n.Interface == "":
			return nil, fmt.Errorf("line %d: a neighbour without a local interface: send the output of a detail command, such as show lldp neighbors detail", p.lines[i])
		default:
			found = append(found, n)
		}
	}
	if len(found) == 0 && !noEntries.MatchString(output) {
		return nil, errors.New("has no neighbours: send the output of a detail command, such as show lldp neighbors detail")
	}
	return found, nil
}

// read reads a line.
func (p *text) read(line string) {
	line = strings.TrimPrefix(line, "+ ")
	for _, heading := range []*regexp.Regexp{headed, localPort} {
		if m := heading.FindStringSubmatch(line); m != nil {
			p.begin(Neighbor{Interface: m[1]})
			return
		}
	}
	if m := connection.FindStringSubmatch(line); m != nil {
		p.set("local interface", m[1])
		p.set("port id", m[2])
		return
	}
	key, value, ok := strings.Cut(line, ":")
	if m := dotted.FindStringSubmatch(line); m != nil {
		key, value, ok = m[1], m[2], true
	}
	if ok {
		key = qualifier.ReplaceAllString(strings.TrimSpace(key), "")
		p.set(strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(key, "-", " "))), " "), value)
	}
}

// begin begins a neighbour.
func (p *text) begin(n Neighbor) {
	p.found, p.lines = append(p.found, n), append(p.lines, p.line)
	p.current, p.cdp, p.manage = &p.found[len(p.found)-1], false, false
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
	case "neighbor index", "neighbor": // a further one on the same interface
		if p.current.ChassisID != "" {
			p.begin(Neighbor{Interface: p.current.Interface})
		}
		return
	case "device id":
		if *p.current != (Neighbor{}) {
			p.begin(Neighbor{})
		}
		p.cdp = true
	case "system name", "neighbor system name":
		if p.cdp && value != "" {
			p.current.Name, p.cdp = "", false
		}
	}
	field := p.field(key)
	switch {
	case value == "" && (key == "mgmt address" || key == "management address"):
		p.manage = true
		return
	case field == nil || value == "":
		return
	case field == &p.current.Address && p.manage:
		*field, p.manage = "", false
	}
	if *field != "" && starts(key) {
		p.begin(Neighbor{})
		field = p.field(key)
	}
	if *field == "" {
		*field = value
	}
}

// starts reports whether a neighbour that has this field already is another one.
func starts(key string) bool {
	switch key {
	case "local intf", "local interface", "local port", "local port id", "port", "chassis id", "device id":
		return true
	}
	return false
}

// field returns the field of the current neighbour with a name in the output, or nil.
func (p *text) field(key string) *string {
	switch key {
	case "local intf", "local interface", "local port", "local port id", "port":
		return &p.current.Interface
	case "system name", "neighbor system name", "device id":
		return &p.current.Name
	case "chassis id", "neighbor chassis id":
		return &p.current.ChassisID
	case "port id", "neighbor port id":
		return &p.current.Port
	case "port description", "port desc", "neighbor port desc":
		return &p.current.PortDescription
	case "ip", "ip address", "ipv4 address", "ipv6 address", "management address", "management addresses", "management address value", "neighbor management address":
		return &p.current.Address
	}
	return nil
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
