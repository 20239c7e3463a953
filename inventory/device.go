package inventory

import "time"

// Device is a piece of network equipment.
type Device struct {
	Base
	Hostname     string       `json:"hostname" field:"required,unique,max=253,search"`
	IP           string       `json:"ip" field:"required,format=ip,search,index"`
	Model        string       `json:"model" field:"required,max=100,search,index,counted"`
	Vendor       string       `json:"vendor" field:"required,max=100,search,index,counted"`
	OS           string       `json:"os" field:"required,max=100,counted"`
	OSVersion    string       `json:"os_version" field:"max=100,counted"`
	Status       DeviceStatus `json:"status" field:"required,index,counted"`
	Role         string       `json:"role" field:"max=100,counted"`
	SerialNumber string       `json:"serial_number" field:"unique,max=100,search"`
	RackPosition string       `json:"rack_position" field:"max=100,index"`
	LocationID   *string      `json:"location_id" field:"ref=locations:null,counted"`
	LastSeen     *time.Time   `json:"last_seen" field:"index"`
	Tags         []string     `json:"tags" field:"max=50"`
	Notes        string       `json:"notes" field:"format=text,max=10000,search"`
}

func devices() *Resource {
	return describe[Device](definition{name: "devices", label: "Device", write: roles(Admin)})
}
