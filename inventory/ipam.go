package inventory

import (
	"net/netip"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// PrefixStatus is the lifecycle status of a prefix.
type PrefixStatus string

// The statuses of a prefix.
const (
	PrefixContainer  PrefixStatus = "container" // it is divided into others
	PrefixActive     PrefixStatus = "active"
	PrefixReserved   PrefixStatus = "reserved"
	PrefixDeprecated PrefixStatus = "deprecated"
)

// Values returns all values.
func (PrefixStatus) Values() []string {
	return valueStrings(PrefixContainer, PrefixActive, PrefixReserved, PrefixDeprecated)
}

// AddressStatus is the lifecycle status of an address.
type AddressStatus string

// The statuses of an address.
const (
	AddressActive     AddressStatus = "active"
	AddressReserved   AddressStatus = "reserved"
	AddressDeprecated AddressStatus = "deprecated"
	AddressDHCP       AddressStatus = "dhcp"
	AddressSLAAC      AddressStatus = "slaac"
)

// Values returns all values.
func (AddressStatus) Values() []string {
	return valueStrings(AddressActive, AddressReserved, AddressDeprecated, AddressDHCP, AddressSLAAC)
}

// AddressRole is the purpose of an address. Most addresses have none.
type AddressRole string

// The roles of an address.
const (
	AddressLoopback  AddressRole = "loopback"
	AddressSecondary AddressRole = "secondary"
	AddressAnycast   AddressRole = "anycast"
	AddressVIP       AddressRole = "vip"
	AddressVRRP      AddressRole = "vrrp"
	AddressHSRP      AddressRole = "hsrp"
	AddressGLBP      AddressRole = "glbp"
	AddressCARP      AddressRole = "carp"
)

// Values returns all values.
func (AddressRole) Values() []string {
	return valueStrings(AddressLoopback, AddressSecondary, AddressAnycast, AddressVIP, AddressVRRP, AddressHSRP, AddressGLBP, AddressCARP)
}

// shared reports whether several interfaces may have an address with the role.
func (r AddressRole) shared() bool {
	return slices.Contains([]AddressRole{AddressAnycast, AddressVIP, AddressVRRP, AddressHSRP, AddressGLBP, AddressCARP}, r)
}

// VRF is a routing table. Prefixes and addresses are unique within one, and within the global table,
// which those without a VRF belong to.
type VRF struct {
	records.Base
	Name        string `json:"name" field:"required,unique=rd?,max=100,search,natural,index"`
	RD          string `json:"rd" field:"unique,max=50,search"` // the route distinguisher, such as 65000:1
	Description string `json:"description" field:"max=255,search"`
}

// Prefix is a network of addresses. Which prefixes contain it, and which it contains, follows from its
// value.
type Prefix struct {
	records.Base
	Prefix      string       `json:"prefix" field:"required,unique=vrf_id?,format=network,search,index,alias=subnet|network|cidr"`
	VRFID       *string      `json:"vrf_id" field:"ref=vrfs:restrict"`
	Status      PrefixStatus `json:"status" field:"default=active,counted"`
	Role        string       `json:"role" field:"max=50,counted"` // such as loopbacks or transfer
	LocationID  *string      `json:"location_id" field:"ref=locations:null,counted,alias=site"`
	VLANID      *string      `json:"vlan_id" field:"ref=vlans:null"`
	Description string       `json:"description" field:"max=255,search"`
}

// Address is an IP address, of an interface or of none. An interface may have several, of which one is
// the primary address: its ip_address (REFERENCE.md, 1.12).
type Address struct {
	records.Base
	Address     string        `json:"address" field:"required,format=interface-ip,search,index,alias=ip|ip address"` // with or without a prefix length
	VRFID       *string       `json:"vrf_id" field:"ref=vrfs:restrict"`
	InterfaceID *string       `json:"interface_id" field:"ref=interfaces:cascade,alias=port"`
	Status      AddressStatus `json:"status" field:"default=active,counted"`
	Role        AddressRole   `json:"role" field:"counted"`
	DNSName     string        `json:"dns_name" field:"max=253,search,index,alias=dns|fqdn|hostname"`
	Description string        `json:"description" field:"max=255,search"`

	// Host is the id of the VRF, the address without its prefix length, and the interface if other interfaces may
	// have the address too. Of these, any number may be of no interface.
	Host string `json:"-" field:"hidden,column=host,unique,max=160"`
}

// Normalize sets Host.
func (a *Address) Normalize() {
	a.Host = ""
	if host, ok := hostOf(a.Address); ok {
		a.Host = stringOf(a.VRFID) + "/" + host.String()
	}
	switch {
	case !a.Role.shared() || a.Host == "":
	case a.InterfaceID == nil:
		a.Host = ""
	default:
		a.Host += "/" + *a.InterfaceID
	}
}

// Shares reports whether other interfaces may have the address too (records.Namesake).
func (a *Address) Shares() bool { return a.Role.shared() }

// hostOf returns an address without its prefix length, and false for what is none.
func hostOf(address string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(address); err == nil {
		return addr.Unmap(), true
	}
	p, err := netip.ParsePrefix(address)
	return p.Addr().Unmap(), err == nil
}
