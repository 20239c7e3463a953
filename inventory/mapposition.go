package inventory

import "github.com/ashlar-go/ashlar/inventory/records"

// MapPosition is the position of a device on a map of the network, for everybody who sees the map.
type MapPosition struct {
	records.Base
	DeviceID string  `json:"device_id" field:"required,ref=devices:cascade"`
	View     string  `json:"view" field:"required,unique=device_id,max=100,index"` // the map, such as all
	X        float64 `json:"x" field:"min=-1000000,max=1000000"`                   // to the right
	Y        float64 `json:"y" field:"min=-1000000,max=1000000"`                   // downwards
}
