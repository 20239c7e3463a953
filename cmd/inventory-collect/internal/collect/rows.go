package collect

import (
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
