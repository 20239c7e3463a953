package collect

import (
	"cmp"
	"math"
	"net/netip"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// Table is a table of a device for POST /drift of the inventory.
type Table struct {
	Device   string `json:"device"`
	Kind     string `json:"kind"`               // interfaces or neighbors
	Protocol string `json:"protocol,omitempty"` // of neighbours: lldp
	Rows     any    `json:"rows"`               // []InterfaceRow or []NeighborRow
}

// InterfaceRow is an interface with the names of fields of ntc-templates. Empty values are not known.
type InterfaceRow struct {
	Interface   string `json:"interface"`
	Description string `json:"description,omitempty"`
	MACAddress  string `json:"mac_address,omitempty"`
	MTU         int64  `json:"mtu,omitempty"`
	LinkStatus  string `json:"link_status,omitempty"` // up, down or administratively down
}

// NeighborRow is a neighbour with the names of fields of ntc-templates.
type NeighborRow struct {
	LocalInterface string `json:"local_interface"`
	Name           string `json:"neighbor_name"`
	ChassisID      string `json:"chassis_id"`
	PortID         string `json:"neighbor_port_id"`
	Description    string `json:"neighbor_port_description"`
	Address        string `json:"mgmt_address"`
}

// Tables returns the tables of interfaces and neighbours, without those of absent MIBs: an empty table of
// neighbours says that all links are missing.
func (r *Result) Tables() []Table {
	tables := []Table{}
	if r.Interfaces != nil {
		rows := make([]InterfaceRow, len(r.Interfaces))
		for n, i := range r.Interfaces {
			rows[n] = InterfaceRow{i.Name, i.Description, i.MAC, i.MTU, i.linkStatus()}
		}
		tables = append(tables, Table{r.DeviceName(), "interfaces", "", rows})
	}
	if r.Neighbors != nil {
		rows := make([]NeighborRow, len(r.Neighbors))
		for n, o := range r.Neighbors {
			rows[n] = NeighborRow{o.Interface, o.Name, o.ChassisID, o.Port, o.PortDescription, o.Address}
		}
		tables = append(tables, Table{r.DeviceName(), "neighbors", "lldp", rows})
	}
	return tables
}

// linkStatus returns the state of the link, or "" if it is neither up nor down.
func (i *Interface) linkStatus() string {
	switch {
	case i.OperStatus == "up":
		return "up"
	case i.AdminStatus == "down":
		return "administratively down"
	case i.OperStatus == "down", i.OperStatus == "lowerlayerdown", i.OperStatus == "notpresent":
		return "down"
	}
	return ""
}

// DeviceRecord is a row of the resource devices for an import. A value that is not known is left out, and
// leaves that of the record unchanged.
type DeviceRecord struct {
	Resource     string `json:"_resource"`
	Hostname     string `json:"hostname"`
	IP           string `json:"ip,omitempty"`
	Vendor       string `json:"vendor,omitempty"`
	Model        string `json:"model,omitempty"`
	OSVersion    string `json:"os_version,omitempty"`
	SerialNumber string `json:"serial_number,omitempty"`
}

// InterfaceRecord is a row of the resource interfaces for an import.
type InterfaceRecord struct {
	Resource    string `json:"_resource"`
	Device      string `json:"device"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
	AdminStatus string `json:"admin_status,omitempty"`
	OperStatus  string `json:"oper_status,omitempty"`
	SpeedMbps   int64  `json:"speed_mbps,omitempty"`
	MTU         int64  `json:"mtu,omitempty"`
	MACAddress  string `json:"mac_address,omitempty"`
	IfIndex     uint32 `json:"ifindex,omitempty"`
}

// maxShort is the maximum length in characters of most texts of the inventory.
const maxShort = 100

// shorten returns the first n characters of a text.
func shorten(s string, n int) string { return strings.TrimSpace(printable.Prefix(s, n)) }

// Records returns the rows of an import: a [DeviceRecord], and an [InterfaceRecord] for each interface. The
// address of the device is the target, if that is an address. Texts are cut to the lengths of the inventory, and
// an ifIndex beyond its bound is left out.
func (r *Result) Records() []any {
	device := DeviceRecord{
		Resource: "devices", Hostname: r.DeviceName(), Vendor: shorten(r.Vendor, maxShort),
		Model: shorten(r.Model, maxShort), OSVersion: shorten(r.SoftwareVersion, maxShort), SerialNumber: shorten(r.SerialNumber, maxShort),
	}
	if addr, err := netip.ParseAddr(r.Host); err == nil {
		device.IP = addr.Unmap().WithZone("").String()
	}
	rows := []any{device}
	for _, i := range r.Interfaces {
		row := InterfaceRecord{
			Resource: "interfaces", Device: device.Hostname, Name: i.Name, Description: i.Description, Type: i.kind(),
			AdminStatus: i.AdminStatus, OperStatus: i.OperStatus, SpeedMbps: i.SpeedMbps, MTU: i.MTU, MACAddress: i.MAC,
		}
		if i.IfIndex <= math.MaxInt32 {
			row.IfIndex = i.IfIndex
		}
		if i.AdminStatus == "down" && i.OperStatus == "" {
			row.OperStatus = "down"
		}
		rows = append(rows, row)
	}
	return rows
}

// kind returns the type of an interface for the inventory, or "" if ifType does not say it: all of Ethernet
// have one value.
func (i *Interface) kind() string {
	switch i.Type { // IANAifType-MIB
	case 161: // ieee8023adLag
		return "lag"
	case 24, 53, 131, 135, 136: // softwareLoopback, propVirtual, tunnel, l2vlan, l3ipvlan
		return "virtual"
	}
	return ""
}

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
