package inventory

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Location is a region, site, building, floor or room with devices.
type Location struct {
	records.Base
	Name     string       `json:"name" field:"required,max=200,search,natural,index,alias=site|location|room|building"`
	City     string       `json:"city" field:"max=100,search,index"`
	Country  string       `json:"country" field:"max=100,search,index,counted"`
	Address  string       `json:"address" field:"format=text,max=300,search"`
	SiteCode string       `json:"site_code" field:"unique,max=50,search,alias=code|slug|site id"`
	Timezone string       `json:"timezone" field:"format=timezone,max=64,alias=tz"`
	Lat      *float64     `json:"lat" field:"min=-90,max=90,alias=latitude"`             // degrees north
	Lon      *float64     `json:"lon" field:"min=-180,max=180,alias=lng|long|longitude"` // degrees east
	Kind     LocationKind `json:"kind" field:"counted"`
	ParentID *string      `json:"parent_id" field:"ref=locations:null,alias=region|parent location|within"` // the location that this one is within
}

// Shares reports whether others may have the name and no site code (records.Namesake).
func (l *Location) Shares() bool { return l.SiteCode == "" }

// Validate reports a coordinate without the other one.
func (l *Location) Validate() []records.FieldError {
	switch {
	case l.Lat != nil && l.Lon == nil:
		return []records.FieldError{records.InField("lon", records.Missing("send lat and lon together"))}
	case l.Lon != nil && l.Lat == nil:
		return []records.FieldError{records.InField("lat", records.Missing("send lat and lon together"))}
	}
	return nil
}

// Device is a piece of network equipment.
type Device struct {
	records.Base
	Hostname     string       `json:"hostname" field:"required,max=253,search,natural,index,alias=name|device|device name|host|node|fqdn|system name|switch|switch name|router|server|node name|equipment"`
	IP           string       `json:"ip" field:"format=ip,search,index,alias=ip address|address|primary ip|primary address|management ip|management ip address|management address|mgmt ip|mgmt|mgmt address|ip addr|ipv4|ipv4 address|primary ipv4"`
	Model        string       `json:"model" field:"max=100,search,index,counted,alias=model no|model number|pid|product id|product"`
	Vendor       string       `json:"vendor" field:"max=100,search,index,counted,alias=manufacturer|make|brand"`
	OS           string       `json:"os" field:"max=100,counted,alias=platform|operating system"`
	OSVersion    string       `json:"os_version" field:"max=100,counted,alias=software version|firmware|firmware version|sw version|ios version"`
	Status       DeviceStatus `json:"status" field:"default=active,index,counted,alias=state"`
	Role         string       `json:"role" field:"max=100,index,counted,alias=device role|function"`
	SerialNumber string       `json:"serial_number" field:"unique,max=100,search,index,alias=serial|serial no|serial #|s/n|sn"`
	RackPosition string       `json:"rack_position" field:"max=100,index"`
	LocationID   *string      `json:"location_id" field:"ref=locations:null,index,counted,alias=site|site name|site code|location name|building|room|datacenter|data center|dc|pop|campus"`
	LastSeen     *time.Time   `json:"last_seen" field:"index,alias=last seen at|last contact"`
	Tags         []string     `json:"tags" field:"max=50,search,alias=tag|labels"`
	Notes        string       `json:"notes" field:"format=text,max=10000,search,alias=note|comments|comment|remarks|description"`
	RackID       *string      `json:"rack_id" field:"ref=racks:null,alias=cabinet|rack name|rack no"`
	RackUnit     *int64       `json:"rack_unit" field:"min=1,max=1000,alias=u|ru|unit|position|u position|rack u|start u|ru position"` // the lowest one that it occupies
	RackHeight   *int64       `json:"rack_height" field:"min=1,max=1000,alias=height|u height|height u|u size|units"`                  // units; default: that of the type, or 1
	RackFace     RackFace     `json:"rack_face" field:"alias=face"`                                                                    // empty: both
	DeviceTypeID *string      `json:"device_type_id" field:"ref=device-types:null,alias=type|hardware|part"`
	Tenant       string       `json:"tenant" field:"max=100,counted,alias=customer|owner"`

	HostnameKey string `json:"-" field:"hidden,column=hostname_key,unique=location_id?,max=360"` // see hostname.go
}

// Interface is a physical or logical port of a device.
type Interface struct {
	records.Base
	DeviceID    string     `json:"device_id" field:"required,ref=devices:cascade,alias=host|hostname|device name|node"`
	Name        string     `json:"name" field:"required,unique=device_id,max=100,search,natural,index,shared,alias=interface|interface name|port|ifname"`
	Description string     `json:"description" field:"max=255,search,alias=descr|ifalias|comment"`
	Type        string     `json:"type" field:"max=50,counted"`
	Status      LinkStatus `json:"status" field:"default=up,counted"`
	AdminStatus LinkStatus `json:"admin_status" field:"counted"`
	OperStatus  OperStatus `json:"oper_status" field:"counted"`
	// Speed and SpeedMbps are two forms of one value; either sets the other. SpeedMbps is
	// rounded (see ParseSpeed); 0 alone is an unknown speed. With the speed auto it may be
	// any: the negotiated one.
	Speed      string `json:"speed" field:"format=speed,counted"`
	SpeedMbps  *int64 `json:"speed_mbps" field:"min=0,max=1000000000,counted"`
	MTU        *int64 `json:"mtu" field:"min=64,max=4294967295,counted"` // 32 bits, as in RFC 8344
	MACAddress string `json:"mac_address" field:"format=mac,search,index,alias=mac|physical address"`
	Mode       string `json:"mode" field:"max=50,counted"`
	IfIndex    *int64 `json:"ifindex" field:"min=1,max=2147483647,counted"`                         // InterfaceIndex of RFC 2863
	IPAddress  string `json:"ip_address" field:"format=interface-ip,search,index,alias=ip|address"` // with or without a prefix length

	ParentID       *string `json:"parent_id" field:"ref=interfaces:null,alias=parent interface"`                    // of a sub-interface: an interface of the device
	LAGID          *string `json:"lag_id" field:"ref=interfaces:null,alias=lag group|port channel|bond|aggregate"`  // of a member: an interface of the device with the type lag
	UntaggedVLANID *string `json:"untagged_vlan_id" field:"ref=vlans:null,alias=vlan|access vlan|native vlan|pvid"` // see TaggedVLAN for the tagged ones
}

// Normalize sets the missing one of speed and speed_mbps. An invalid speed is left to Validate.
func (i *Interface) Normalize() {
	mbps, err := records.ParseSpeed(i.Speed)
	switch {
	case i.Speed == "" && i.SpeedMbps != nil && *i.SpeedMbps > 0:
		i.Speed = records.FormatSpeed(*i.SpeedMbps)
	case i.SpeedMbps == nil && err == nil && !i.negotiates():
		i.SpeedMbps = &mbps
	}
}

// negotiates reports whether the speed is auto.
func (i *Interface) negotiates() bool {
	speed, err := records.CanonicalSpeed(i.Speed)
	return err == nil && speed == "auto"
}

// Validate reports that speed and speed_mbps disagree.
func (i *Interface) Validate() []records.FieldError {
	mbps, err := records.ParseSpeed(i.Speed)
	if err != nil || i.SpeedMbps == nil || *i.SpeedMbps == mbps || i.negotiates() {
		return nil
	}
	return []records.FieldError{records.InField("speed_mbps", records.Inconsistent(fmt.Sprintf("%d, as speed is: send only one of them, or equal values", mbps)))}
}

// Patched clears the one of speed and speed_mbps that a patch leaves out, so that the other
// one sets it again.
func (i *Interface) Patched(p records.Patch) {
	_, speed := p["speed"]
	_, mbps := p["speed_mbps"]
	switch {
	case speed && !mbps:
		i.SpeedMbps = nil
	case mbps && !speed:
		i.Speed = ""
	}
}

// VLAN is a virtual network, of one location or of all.
type VLAN struct {
	records.Base
	VLANID      int64      `json:"vlan_id" field:"required,unique=location_id,min=1,max=4094,index,alias=vid|vlan|vlan number|tag"` // IEEE 802.1Q
	Name        string     `json:"name" field:"required,max=100,search,natural,index,alias=vlan name"`
	Description string     `json:"description" field:"max=255,search"`
	Status      VLANStatus `json:"status" field:"default=active,counted"`
	LocationID  *string    `json:"location_id" field:"ref=locations:null,counted,alias=site"`
	SubnetCIDR  string     `json:"subnet_cidr" field:"format=cidr,search,alias=subnet|network|prefix"`
	GatewayIP   string     `json:"gateway_ip" field:"format=ip,search,alias=gateway|default gateway"`
}

// Shares reports whether others may have the number (records.Namesake).
func (v *VLAN) Shares() bool { return v.LocationID == nil }

// Validate reports a gateway outside of the subnet.
func (v *VLAN) Validate() []records.FieldError {
	subnet, err := netip.ParsePrefix(v.SubnetCIDR)
	gateway, err2 := netip.ParseAddr(v.GatewayIP)
	if err != nil || err2 != nil || subnet.Contains(gateway) {
		return nil
	}
	return []records.FieldError{records.InField("gateway_ip", records.Inconsistent("an address of the subnet "+v.SubnetCIDR))}
}

// Link is a connection of two interfaces, such as a cable. It has no direction: the end with
// the lower id is always A, so that two interfaces have at most one link.
type Link struct {
	records.Base
	AInterfaceID string     `json:"a_interface_id" field:"required,ref=interfaces:cascade"`
	BInterfaceID string     `json:"b_interface_id" field:"required,unique=a_interface_id,ref=interfaces:cascade"`
	Type         string     `json:"type" field:"max=50,counted"`
	Status       LinkStatus `json:"status" field:"default=up,counted"`
	Discovery    string     `json:"discovery" field:"default=manual,max=50,counted"` // such as manual, lldp or cdp
	LastSeen     *time.Time `json:"last_seen"`
}

// errSameInterface refuses a link of an interface to itself.
var errSameInterface = records.Inconsistent("another interface than a_interface_id")

// Normalize puts the ends in order.
func (l *Link) Normalize() {
	if l.BInterfaceID < l.AInterfaceID && l.BInterfaceID != "" {
		l.AInterfaceID, l.BInterfaceID = l.BInterfaceID, l.AInterfaceID
	}
}

// Validate reports a link of an interface to itself.
func (l *Link) Validate() []records.FieldError {
	if l.AInterfaceID != "" && l.AInterfaceID == l.BInterfaceID {
		return []records.FieldError{records.InField("b_interface_id", errSameInterface)}
	}
	return nil
}

// Event is something that happened in the network.
type Event struct {
	records.Base
	Severity       Severity   `json:"severity" field:"required,index,counted"`
	Type           string     `json:"type" field:"required,max=50,index,counted"` // such as security, system or interface
	Message        string     `json:"message" field:"required,format=text,max=4000,search"`
	DeviceID       *string    `json:"device_id" field:"ref=devices:null"`
	InterfaceID    *string    `json:"interface_id" field:"ref=interfaces:null"`
	LocationID     *string    `json:"location_id" field:"ref=locations:null,counted"`
	AcknowledgedAt *time.Time `json:"acknowledged_at" field:"readonly"`
	AcknowledgedBy *string    `json:"acknowledged_by" field:"readonly,ref=users:null"`
}

// ValidateIn refuses to change an event, except whether it is acknowledged (records.TxValidator).
func (e *Event) ValidateIn(_ context.Context, _ records.Tx, before records.Record) error {
	was, ok := before.(*Event)
	if !ok {
		return nil
	}
	moved := func(from, to *string) bool { return to != nil && (from == nil || *from != *to) }
	if e.Severity != was.Severity || e.Type != was.Type || e.Message != was.Message ||
		moved(was.DeviceID, e.DeviceID) || moved(was.InterfaceID, e.InterfaceID) || moved(was.LocationID, e.LocationID) {
		return records.Refuse("message", records.Wrong("read_only", "and the other fields of an event can't be changed: acknowledge it, or delete it"))
	}
	return nil
}

// Metric is a measurement of a device.
type Metric struct {
	records.Base
	DeviceID      string     `json:"device_id" field:"required,ref=devices:cascade"`
	CPU           *float64   `json:"cpu" field:"min=0,max=100"`     // percent
	Memory        *float64   `json:"memory" field:"min=0,max=100"`  // percent
	Temp          *float64   `json:"temp" field:"min=-100,max=300"` // degrees Celsius
	UptimeSeconds *int64     `json:"uptime_seconds" field:"min=0"`
	TS            *time.Time `json:"ts" field:"index"` // of the measurement; default: the time of creation
}

// Initialize sets the default of ts.
func (m *Metric) Initialize() {
	m.TS = cmp.Or(m.TS, new(m.CreatedAt))
}

// MapPosition is the position of a device on a map of the network, for everybody who sees the map.
type MapPosition struct {
	records.Base
	DeviceID string  `json:"device_id" field:"required,ref=devices:cascade"`
	View     string  `json:"view" field:"required,unique=device_id,max=100,index"` // the map, such as all
	X        float64 `json:"x" field:"min=-1000000,max=1000000"`                   // to the right
	Y        float64 `json:"y" field:"min=-1000000,max=1000000"`                   // downwards
}

// LocationKind is the kind of a location.
type LocationKind string

// The kinds of locations.
const (
	LocationRegion   LocationKind = "region"
	LocationSite     LocationKind = "site"
	LocationBuilding LocationKind = "building"
	LocationFloor    LocationKind = "floor"
	LocationRoom     LocationKind = "room"
)

// Values returns all values.
func (LocationKind) Values() []string {
	return valueStrings(LocationRegion, LocationSite, LocationBuilding, LocationFloor, LocationRoom)
}

// MaxBelow is the maximum number of locations that [Below] returns.
const MaxBelow = 1000

// ValidateIn checks that no location is within itself (records.TxValidator).
func (l *Location) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, changed := before.(*Location)
	if l.ParentID == nil || changed && equalIDs(l.ParentID, old.ParentID) {
		return nil
	}
	if err := records.Serialize(ctx, tx, "parents of locations"); err != nil {
		return err
	}
	id := *l.ParentID
	for above := 1; id != ""; above++ {
		if id == l.ID {
			return refuse("location", "parent_id", records.Inconsistent("another location than itself and those within it"))
		}
		if above > maxParents {
			return refuse("location", "parent_id", records.TooMany(maxParents-1, "locations above it"))
		}
		parent, err := referred[Location, Location](ctx, tx, "parent_id", id)
		if err != nil {
			return err
		}
		id = stringOf(parent.ParentID)
	}
	return nil
}

// Below returns the ids of a location and of all within it, at most [MaxBelow]. more says that there are
// others.
func Below(ctx context.Context, from records.Reader, id string) (ids []string, more bool, err error) {
	if err := records.CheckStore(from, new(Location)); err != nil {
		return nil, false, err
	}
	ids = []string{id}
	for level := ids; len(level) > 0; {
		var next []string
		for some := range slices.Chunk(level, 100) {
			values := make([]any, len(some))
			for i, id := range some {
				values[i] = id
			}
			q := &records.Query{Resource: records.Of[Location](from.Schema()), Limit: MaxBelow}
			page, err := from.List(ctx, q.Where("parent_id", records.Condition{Op: records.In, Value: values}))
			if err != nil {
				return nil, false, err
			}
			for _, rec := range page.Records {
				next = append(next, rec.Meta().ID)
			}
			if page.More || len(ids)+len(next) > MaxBelow {
				return nil, true, nil
			}
		}
		ids, level = append(ids, next...), next
	}
	return ids, false, nil
}
