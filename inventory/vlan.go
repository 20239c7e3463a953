package inventory

import "net/netip"

// VLAN is a virtual network, everywhere or at one location.
type VLAN struct {
	Base
	VLANID      int64      `json:"vlan_id" field:"required,unique=location_id,min=1,max=4094,index"` // IEEE 802.1Q
	Name        string     `json:"name" field:"required,max=100,search,index"`
	Description string     `json:"description" field:"max=255,search"`
	Status      VLANStatus `json:"status" field:"default=active,counted"`
	LocationID  *string    `json:"location_id" field:"ref=locations:null,counted"`
	SubnetCIDR  string     `json:"subnet_cidr" field:"format=cidr,search"`
	GatewayIP   string     `json:"gateway_ip" field:"format=ip,search"`
}

func vlans() *Resource {
	return describe[VLAN](definition{
		name: "vlans", label: "VLAN", write: roles(Admin),
		messages: map[string]string{"vlan_id": "VLAN number already exists at this location"},
	})
}

// check says whether the gateway can be reached from the subnet.
func (v *VLAN) check() []FieldError {
	subnet, err := netip.ParsePrefix(v.SubnetCIDR)
	gateway, err2 := netip.ParseAddr(v.GatewayIP)
	if err != nil || err2 != nil || subnet.Contains(gateway) {
		return nil
	}
	return []FieldError{{"gateway_ip", "must be an address of the subnet " + v.SubnetCIDR}}
}
