package inventory

import "fmt"

// Interface is a port of a device, or what the device treats as one.
type Interface struct {
	Base
	DeviceID    string     `json:"device_id" field:"required,ref=devices:cascade"`
	Name        string     `json:"name" field:"required,unique=device_id,max=100,search,index"`
	Description string     `json:"description" field:"max=255,search"`
	Type        string     `json:"type" field:"required,max=50,counted"`
	Status      LinkStatus `json:"status" field:"default=up,index,counted"`
	AdminStatus LinkStatus `json:"admin_status" field:"counted"`
	OperStatus  OperStatus `json:"oper_status" field:"counted"`
	// Speed and SpeedMbps say the same and fill each other.
	Speed      string `json:"speed" field:"format=speed,counted"`
	SpeedMbps  *int64 `json:"speed_mbps" field:"min=1,max=1000000000,index,counted"`
	MTU        *int64 `json:"mtu" field:"min=64,max=65535,counted"`
	MACAddress string `json:"mac_address" field:"format=mac,search,index"`
	Mode       string `json:"mode" field:"max=50,counted"`
	IfIndex    *int64 `json:"ifindex" field:"min=1,max=2147483647,counted"`        // RFC 2863, InterfaceIndex
	IPAddress  string `json:"ip_address" field:"format=interface-ip,search,index"` // with or without the length of its prefix
}

func interfaces() *Resource {
	return describe[Interface](definition{
		name: "interfaces", label: "Interface", write: roles(Admin),
		messages: map[string]string{"name": "Interface name already exists on this device"},
	})
}

// tidy fills speed and speed_mbps from each other. What can't be read is left to the check.
func (i *Interface) tidy() {
	mbps, err := ParseSpeed(i.Speed)
	switch {
	case i.Speed == "" && i.SpeedMbps != nil && *i.SpeedMbps > 0:
		i.Speed = FormatSpeed(*i.SpeedMbps)
	case i.SpeedMbps == nil && err == nil:
		i.SpeedMbps = &mbps
	}
}

// check says whether speed and speed_mbps agree.
func (i *Interface) check() []FieldError {
	mbps, err := ParseSpeed(i.Speed)
	if err != nil || i.SpeedMbps == nil || *i.SpeedMbps == mbps {
		return nil
	}
	return []FieldError{{"speed_mbps", fmt.Sprintf("must agree with speed, which is %d Mbps: send one of them, or both alike", mbps)}}
}

// follow forgets the one of speed and speed_mbps that a change leaves out, as it is the
// old one.
func (i *Interface) follow(p Patch) {
	_, speed := p["speed"]
	_, mbps := p["speed_mbps"]
	switch {
	case speed && !mbps:
		i.SpeedMbps = nil
	case mbps && !speed:
		i.Speed = ""
	}
}
