package demo

import (
	"strconv"

	"github.com/ashlar-go/ashlar/inventory"
)

// The roles of devices, in the order of the catalog: from the wide area network to the edge.
const (
	router = iota
	firewall
	core
	balancer
	distribution
	leaf
	server
	access
	accessPoint
	panel
	roles
)

// heights are the rack units of the devices of each role; access points are in no rack.
var heights = [roles]int64{router: 3, firewall: 1, core: 2, balancer: 1, distribution: 1, leaf: 1, server: 2, access: 1, panel: 1}

// The sizes of sites and their parts, in devices.
const (
	smallest     = 12 // of a site with buildings
	redundant    = 24 // of a site with two of what others have one of
	perBuilding  = 72
	perFloor     = 12
	perRack      = 14 // servers and leaf switches
	accessPerHub = 3  // access switches of a floor
	positions    = 6  // of a rear port: the fibre pairs of an MPO-12 connector
)

// documentedSites is the number of sites whose cables are recorded.
const documentedSites = 10

// The speeds of connections in Mbps.
const (
	gigabit     = 1_000
	tenGigabit  = 10_000
	fortyGig    = 40_000
	hundredGig  = 100_000
	rackHeight  = 42
	floorHeight = 24
)

// shape is what a site has: places, racks, devices, and the connections between these. It follows from the
// numbers of the site and of its devices alone, so that [Plan] counts without writing.
type shape struct {
	index      int
	documented bool
	places     []place // the site is the first
	racks      []mount
	units      []unit
	wires      []wire
	trunks     []trunk
	panels     []panelPorts
	top        []int // the devices that the rest of the site is connected to
	left       int   // devices without a place
	dual       bool
	numbers    [roles]int
}

// place is a location of a site.
type place struct {
	kind   inventory.LocationKind
	parent int
	name   string // within its parent
}

// mount is a rack with its next free unit.
type mount struct {
	place  int
	name   string
	height int64
	free   int64
}

// unit is a device.
type unit struct {
	role, number int
	place        int
	rack         int // -1 for none
	first        int64
	face         inventory.RackFace
	lag          bool // its uplinks are the members of one
}

// wire is a connection of two devices: a is nearer to the core. through are the front ports that its cables
// pass, if a patch panel is at each end.
type wire struct {
	a, b    int
	mbps    int64
	through *[2]front
}

// front is a front port: a position of a rear port of a panel.
type front struct{ panel, rear, position int }

// trunk is a cable between two rear ports.
type trunk struct{ a, b front }

// panelPorts is a patch panel with so many rear ports.
type panelPorts struct{ unit, rears int }

// newShape returns the shape of a site.
func newShape(index, devices int) *shape {
	s := &shape{index: index, documented: index < documentedSites, left: devices, dual: devices >= redundant}
	s.places = append(s.places, place{kind: inventory.LocationSite, parent: -1})
	home := 0
	if devices >= smallest {
		home = s.place(s.place(0, inventory.LocationBuilding, letter(0)), inventory.LocationRoom, "server room")
	}
	rack := s.rack(home, rackHeight)
	s.head(rack)
	servers := 0
	if devices >= smallest {
		servers = s.left * 3 / 10
	}
	s.offices(rack, s.left-servers)
	s.servers(home, rack, servers)
	return s
}

// letter returns the name of a building.
func letter(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i/26 + 1)
	}
	return name
}

func (s *shape) place(parent int, kind inventory.LocationKind, name string) int {
	s.places = append(s.places, place{kind, parent, name})
	return len(s.places) - 1
}

func (s *shape) rack(place int, height int64) int {
	number := 1
	for _, r := range s.racks {
		if r.place == place {
			number++
		}
	}
	s.racks = append(s.racks, mount{place, "R" + strconv.Itoa(number), height, height})
	return len(s.racks) - 1
}

// add adds a device to a rack, below the others.
func (s *shape) add(role, rack int) int {
	r := &s.racks[rack]
	r.free -= heights[role]
	s.append(unit{role: role, place: r.place, rack: rack, first: r.free + 1})
	return len(s.units) - 1
}

func (s *shape) append(u unit) {
	s.numbers[u.role]++
	u.number = s.numbers[u.role]
	s.units = append(s.units, u)
	s.left--
}

// pair adds two devices to a rack, or one to a small site, if so many more than these are left.
func (s *shape) pair(role, rack, others int) (added []int) {
	n := 1
	if s.dual {
		n = 2
	}
	for range n {
		if s.left > others {
			added = append(added, s.add(role, rack))
		}
	}
	return added
}

// connect connects each of some devices with each of the ones below them.
func (s *shape) connect(above, below []int, mbps int64) {
	for _, b := range below {
		for _, a := range above {
			s.wires = append(s.wires, wire{a: a, b: b, mbps: mbps})
		}
	}
}

// peer connects two devices of a pair with each other, twice.
func (s *shape) peer(pair []int, mbps int64) {
	if len(pair) == 2 {
		for range 2 {
			s.wires = append(s.wires, wire{a: pair[0], b: pair[1], mbps: mbps})
		}
	}
}

// head adds the devices between the wide area network and the rest of the site.
func (s *shape) head(rack int) {
	s.top = s.pair(router, rack, 0)
	if len(s.top) == 2 {
		s.connect(s.top[:1], s.top[1:], fortyGig)
	}
	if fw := s.pair(firewall, rack, 6); len(fw) > 0 {
		s.connect(s.top, fw, tenGigabit)
		s.top = fw
	}
	if cores := s.pair(core, rack, 2); len(cores) > 0 {
		s.connect(s.top, cores, fortyGig)
		s.peer(cores, hundredGig)
		s.top = cores
	}
	if s.left >= 5*redundant {
		s.connect(s.top, s.pair(balancer, rack, 0), tenGigabit)
	}
}

// offices adds buildings with so many devices.
func (s *shape) offices(rack, devices int) {
	buildings := (devices + perBuilding - 1) / perBuilding
	for i := range buildings {
		size := devices*(i+1)/buildings - devices*i/buildings
		building := 0
		switch {
		case len(s.places) > 1 && i == 0:
			building = 1
		case len(s.places) > 1:
			building = s.place(0, inventory.LocationBuilding, letter(i))
			rack = s.rack(s.place(building, inventory.LocationRoom, "network room"), rackHeight)
		}
		s.building(building, rack, size)
	}
}

// building adds the floors of a building, and the switches that these are connected to.
func (s *shape) building(building, rack, size int) {
	before, above, hub := len(s.units), s.top, -1
	if size >= 2*perFloor {
		above = s.pair(distribution, rack, 0)
		s.connect(s.top, above, fortyGig)
		s.peer(above, fortyGig)
	}
	size -= len(s.units) - before
	if s.documented && building > 0 && size >= perFloor/2 {
		hub = s.panel(rack, 0)
		size--
	}
	floors := (size + perFloor - 1) / perFloor
	for f := range floors {
		n := size*(f+1)/floors - size*f/floors
		at := rack
		if building > 0 {
			at = s.rack(s.place(building, inventory.LocationFloor, strconv.Itoa(f+1)), floorHeight)
		}
		s.floor(at, above, hub, f, n)
	}
}

// panel adds a patch panel to the back of the device that was added to a rack last, and returns its number.
func (s *shape) panel(rack, rears int) int {
	last := len(s.units) - 1
	for last >= 0 && s.units[last].rack != rack {
		last--
	}
	if last < 0 {
		s.add(panel, rack)
	} else {
		s.units[last].face = inventory.RackFront
		s.append(unit{role: panel, place: s.racks[rack].place, rack: rack, first: s.units[last].first, face: inventory.RackBack})
	}
	s.panels = append(s.panels, panelPorts{len(s.units) - 1, rears})
	return len(s.panels) - 1
}

// floor adds access switches with access points. hub is the panel that the panel of the floor is connected
// to, -1 for none.
func (s *shape) floor(rack int, above []int, hub, number, devices int) {
	if hub >= 0 {
		devices-- // the panel
	}
	switches := max(1, min((devices+3)/4, accessPerHub))
	first := len(s.units)
	for range switches {
		s.add(access, rack)
	}
	through := func(int) *[2]front { return nil }
	if hub >= 0 {
		own := s.panel(rack, 1)
		s.panels[hub].rears++
		s.trunks = append(s.trunks, trunk{front{hub, number, 0}, front{own, 0, 0}})
		through = func(position int) *[2]front { return &[2]front{{hub, number, position}, {own, 0, position}} }
	}
	for i := range switches {
		s.units[first+i].lag = len(above) == 2
		for j, a := range above {
			s.wires = append(s.wires, wire{a, first + i, tenGigabit, through(i*len(above) + j)})
		}
	}
	for i := range devices - switches {
		s.append(unit{role: accessPoint, place: s.racks[rack].place, rack: -1})
		s.connect([]int{first + i%switches}, []int{len(s.units) - 1}, gigabit)
	}
}

// servers adds racks with two leaf switches and servers each; few servers are in the first rack.
func (s *shape) servers(home, rack, devices int) {
	if devices < 5 {
		for range devices {
			s.connect(s.top, []int{s.add(server, rack)}, tenGigabit)
			s.units[len(s.units)-1].lag = len(s.top) == 2
		}
		return
	}
	racks := (devices + perRack - 1) / perRack
	for i := range racks {
		n := devices*(i+1)/racks - devices*i/racks
		rack := s.rack(home, rackHeight)
		leaves := []int{s.add(leaf, rack), s.add(leaf, rack)}
		s.connect(s.top, leaves, hundredGig)
		for range n - len(leaves) {
			s.connect(leaves, []int{s.add(server, rack)}, tenGigabit)
			s.units[len(s.units)-1].lag = true
		}
	}
}

// managed reports whether devices of a role have a port for their management only.
func managed(role int) bool { return role != accessPoint && role != panel }

// count returns the numbers of records of the site itself, without those that depend on other sites.
func (s *shape) count() Counts {
	c := Counts{
		Locations: len(s.places), Racks: len(s.racks), Devices: len(s.units), Links: len(s.wires), Interfaces: 2 * len(s.wires),
		VLANs: vlansOf(len(s.units)), Prefixes: 2 + blocks(len(s.units)), Addresses: serviceAddresses(s.index),
		Metrics: seriesOf(len(s.units)) * seriesPoints,
	}
	if s.index < plannedSites {
		c.Prefixes += 1 + c.VLANs
		c.Addresses += c.VLANs
	}
	for _, u := range s.units {
		if managed(u.role) {
			c.Interfaces++
			c.Addresses++
		}
		if u.lag {
			c.Interfaces++
			if u.role == access {
				c.TaggedVLANs += len(taggedVLANs(c.VLANs))
			}
		}
	}
	for _, p := range s.panels {
		c.RearPorts += p.rears
		c.FrontPorts += p.rears * positions
	}
	if s.documented {
		c.Cables = len(s.wires) + len(s.trunks)
		for _, w := range s.wires {
			if w.through != nil {
				c.Cables++ // a cable at each end
			}
		}
		c.CableEnds = 2 * c.Cables
	}
	return c
}
