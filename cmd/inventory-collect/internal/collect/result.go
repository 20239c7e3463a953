package collect

import "cmp"

// Result holds the report of a device. Strings are one line of UTF-8 of at most 255 bytes; an empty one was not
// reported.
type Result struct {
	Target string // as it was given
	Host   string // of the target, without the port

	Name        string // of the system, as the device knows it
	Description string
	ObjectID    string // sysObjectID: identifies the kind of device
	Location    string // a free text

	Vendor          string // of the first chassis, like those that follow
	Model           string
	SerialNumber    string // empty for a placeholder such as N/A
	SoftwareVersion string

	Interfaces []Interface // by IfIndex; nil if the device has no IF-MIB, or no name for any of them
	Unnamed    int         // interfaces that are left out, because ifName and ifDescr are empty
	Neighbors  []Neighbor  // by local port; nil if the device has no LLDP-MIB
	Absent     []string    // the MIBs of which it has no objects: IF-MIB, LLDP-MIB, ENTITY-MIB
}

// Interface is a row of ifTable and ifXTable.
type Interface struct {
	IfIndex     uint32
	Name        string // ifName, or else ifDescr; unique, by ifDescr or with the ifIndex: "lo0 (4179)"
	Description string // ifAlias: what an administrator wrote
	Type        int64  // ifType, as IANA assigns them
	MTU         int64  // bytes; 0 is not known, and so are less than 64
	SpeedMbps   int64  // 0 is not known
	MAC         string // with colons
	AdminStatus string // up, down or testing
	OperStatus  string // up, down, testing, unknown, dormant, notpresent or lowerlayerdown (RFC 2863)

	descr string // ifDescr
}

// Neighbor is a row of lldpRemTable.
type Neighbor struct {
	Interface       string // of the device: the name of the local port
	Name            string // of the system
	ChassisID       string // a MAC address with colons, an IP address, or a text
	Port            string // the ID of the port, in the same forms
	PortDescription string
	Address         string // for management: the first one
}

// DeviceName returns the name of the system, or the host if it has none, in at most 253 characters.
func (r *Result) DeviceName() string { return shorten(cmp.Or(r.Name, r.Host), 253) }

// absent adds a MIB to those that the device does not have.
func (r *Result) absent(mib string) { r.Absent = append(r.Absent, mib) }
