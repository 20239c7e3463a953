package demo

import (
	"cmp"
	_ "embed"

	"github.com/ashlar-go/ashlar/inventory"
)

//go:embed catalog.json
var catalogJSON []byte

// catalog is the data that networks are composed of.
type catalog struct {
	Cities     []city
	Streets    []string
	Systems    map[string]*system
	Roles      []role
	Conditions []condition // those of one of 200 devices at the edge each
	VRFs       []inventory.VRF
	Containers []struct{ Prefix, VRF, Description string } // of the networks of sites
	VLANs      []string
	Events     []eventKind // the first is that of devices that cannot be reached, then the most frequent ones
}

// city is a location in a region. Its sites are named after it.
type city struct {
	inventory.Location
	Code, Region string
}

// system is an operating system with its interface names.
type system struct {
	Versions   []string
	Management string           // the management port
	LAG        string           // the names of link aggregation groups, without the number
	First      int64            // the number of the first port
	Ports      map[int64]string // the names of ports by their speed, without the number; 0 for other speeds
}

func (s *system) portPrefix(mbps int64) string { return cmp.Or(s.Ports[mbps], s.Ports[0]) }

// role is the function of a device.
type role struct {
	Name, Short string
	Height      int64 // in rack units; 0 for devices that are in no rack
	Face        inventory.RackFace
	Tags        []string
	Ports       int64                    // of a device type
	Templates   []inventory.PortTemplate // of other ports
	Models      []model
}

type model struct {
	Vendor, Name, OS string
	Serial           string // prefix of serial numbers
	Management       string // replaces that of the system
}

// condition is the state of a device.
type condition struct {
	Status   inventory.DeviceStatus
	MinHours float64 `json:"min_hours"` // since the device was seen
	MaxHours float64 `json:"max_hours"` // 0 for one that never was
	Notes    string
}

type eventKind struct {
	Severity      inventory.Severity
	Type, Message string
	Details       []string
}

// The roles of devices, in the order of the catalog: from the wide area network to the edge.
const (
	router = iota
	firewall
	core
	distribution
	leaf
	server
	access
	accessPoint
	panel
)

// The speeds of connections in Mbps.
const (
	gigabit    = 1_000
	tenGigabit = 10_000
	fortyGig   = 40_000
	hundredGig = 100_000
)
