package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// The time spans before Options.Now in which records are created.
const (
	deviceSpan = 3 * 365 * 24 * time.Hour
	eventSpan  = 30 * 24 * time.Hour // no device is younger
)

// The sizes of sites and their parts, in devices.
const (
	redundant   = 24 // of a site with two of what others have one of
	perBuilding = 72
	perFloor    = 12
	perRack     = 12 // servers
)

// documentedSites is the number of sites whose cables are recorded.
const documentedSites = 10

// network generates records in the order in which they are written.
type network struct {
	*writer
	catalog
	ids    map[string]*string   // of VRFs, regions and, by model, device types
	rings  map[string][][]*host // the routers of the sites of each region; "" has the first of each region
	blocks int                  // of management addresses
	wan    int                  // the number of circuits

	changed []*host // with entries of the audit log
}

// build writes the network.
func build(w *writer) error {
	n := &network{writer: w, ids: map[string]*string{}, rings: map[string][][]*host{}}
	if err := json.Unmarshal(catalogJSON, &n.catalog); err != nil {
		return fmt.Errorf("demo: catalog.json: %w", err)
	}
	begin := n.Now.Add(-deviceSpan - 48*time.Hour).Truncate(time.Microsecond)
	n.deviceTypes(begin)
	n.tables(begin)
	weights, total, left := make([]int, max(1, min(60, n.Devices/50), n.Devices/2500)), 0, n.Devices
	for i := range weights {
		weights[i] = []int{11, 5, 3, 2, 6, 11, 5, 3, 11, 6}[i%10]
		weights[0] = 22 // the headquarters
		total += weights[i]
	}
	for i, weight := range weights {
		size := n.Devices * weight / total
		if i == len(weights)-1 {
			size = left
		}
		left -= size
		if n.site(i, size); n.err != nil {
			return n.err
		}
	}
	for _, region := range slices.Sorted(maps.Keys(n.rings)) {
		sites := n.rings[region]
		for i, routers := range sites {
			if next := (i + 1) % len(sites); next > 0 || i > 1 { // two sites are no ring
				n.circuit(routers[len(routers)-1], sites[next][0])
			}
		}
	}
	n.history()
	return n.err
}

// deviceTypes writes the models with the templates of their ports.
func (n *network) deviceTypes(at time.Time) {
	for i := range n.Roles {
		r := &n.Roles[i]
		for j := range r.Models {
			m, height, templates := &r.Models[j], max(1, r.Height), slices.Clone(r.Templates)
			t := &inventory.DeviceType{Manufacturer: m.Vendor, Model: m.Name, Height: &height, Description: strings.ToUpper(r.Name[:1]) + strings.ReplaceAll(r.Name[1:], "-", " ")}
			n.add(t, at)
			n.ids[m.Name] = &t.ID
			if s := n.Systems[m.OS]; s != nil {
				for _, name := range []string{cmp.Or(m.Management, s.Management), fmt.Sprintf("%s[%d-%d]", s.portPrefix(gigabit), s.First, s.First+r.Ports-1)} {
					templates = append(templates, inventory.PortTemplate{Kind: inventory.PortInterface, Name: name, Type: "copper"})
				}
			}
			for i := range templates {
				templates[i].DeviceTypeID = t.ID
				n.add(&templates[i], at)
			}
		}
	}
}

// site is a site that is being written.
type site struct {
	*network
	index, size int
	left        int // devices to be added
	city        *city
	code        string
	created     time.Time // of all but the devices
	root        *inventory.Location
	racks       int
	numbers     [panel + 1]int     // of devices by role
	vlans       map[string]*string // ids by name
	block       int                // the first one with its management addresses
	hosts       []*host
	links       int
	cables      int
}

// site writes a site with all that belongs to it.
func (n *network) site(index, size int) {
	city, number := &n.Cities[index%len(n.Cities)], strconv.Itoa(index/len(n.Cities)+1)
	s := &site{network: n, index: index, size: size, left: size, city: city, code: city.Code + number, block: n.blocks, vlans: map[string]*string{}}
	s.created = n.Now.Add(-deviceSpan - 24*time.Hour + time.Duration(index)*time.Second)
	n.blocks += (size + 253) / 254
	s.location(strings.TrimSuffix(city.City+" "+number, " 1"))
	s.addressing()
	building := s.within(s.root, inventory.LocationBuilding, "1")
	room := s.within(building, inventory.LocationRoom, "server room")
	r := s.rack(room, 42)
	routers := s.layer(router, r, nil, 0, fortyGig, 0)
	top := s.layer(firewall, r, routers, tenGigabit, 0, 6)
	top = s.layer(core, r, top, fortyGig, hundredGig, 2)
	servers := s.left * 3 / 10
	if servers < 5 {
		servers = 0
	}
	for i := 1; s.left > servers; i++ {
		if i > 1 {
			building = s.within(s.root, inventory.LocationBuilding, strconv.Itoa(i))
			r = s.rack(s.within(building, inventory.LocationRoom, "network room"), 42)
		}
		s.building(building, r, top, max(servers, s.left-perBuilding))
	}
	for s.left > 0 {
		s.servers(s.rack(room, 42), top)
	}
	if n.rings[city.Region] == nil {
		n.rings[""] = append(n.rings[""], routers[:1])
	}
	n.rings[city.Region] = append(n.rings[city.Region], routers)
	s.metrics()
	s.events()
	for _, h := range s.hosts {
		if h.kind != panel && len(s.changed) < historyEdits {
			s.changed = append(s.changed, h)
		}
	}
	s.hosts = nil // the memory of a site is free again, except that of its routers
}

// location writes the site itself, and its region if it is the first one there.
func (s *site) location(name string) {
	if s.ids[s.city.Region] == nil {
		region := &inventory.Location{Name: s.city.Region, Kind: inventory.LocationRegion}
		s.add(region, s.created)
		s.ids[s.city.Region] = &region.ID
	}
	near := func(degrees float64) *float64 {
		return new(math.Round(degrees*10_000+float64(s.rng.IntN(1001)-500)) / 10_000)
	}
	l := s.city.Location
	l.Name, l.SiteCode, l.Kind, l.ParentID = name, s.code, inventory.LocationSite, s.ids[s.city.Region]
	l.Lat, l.Lon, l.Address = near(*l.Lat), near(*l.Lon), strconv.Itoa(1+s.rng.IntN(200))+" "+pick(s.rng, s.Streets)
	s.add(&l, s.created)
	s.root = &l
}

// labels stand between the name of a location and that of its parent.
var labels = map[inventory.LocationKind]string{inventory.LocationBuilding: ", building ", inventory.LocationFloor: ", floor ", inventory.LocationRoom: ", "}

// within writes a location within another one.
func (s *site) within(parent *inventory.Location, kind inventory.LocationKind, name string) *inventory.Location {
	l := s.city.Location
	l.Name, l.SiteCode, l.Kind = parent.Name+labels[kind]+name, parent.SiteCode+"-"+strings.ReplaceAll(name, " ", "-"), kind
	l.ParentID, l.Lat, l.Lon = &parent.ID, nil, nil
	s.add(&l, s.created)
	return &l
}

// rack is a rack with its next free unit.
type rack struct {
	*inventory.Rack
	free int64
}

// rack writes a rack.
func (s *site) rack(at *inventory.Location, height int64) *rack {
	s.racks++
	r := &inventory.Rack{
		Name: "R" + strconv.Itoa(s.racks), LocationID: &at.ID, Height: &height, Status: inventory.RackActive,
		AssetTag: fmt.Sprintf("RACK-%05d", s.made["racks"]+1),
	}
	s.add(r, s.created)
	return &rack{Rack: r, free: height}
}

// layer adds a device, or two to a redundant site, if more than so many others are left. It connects them with
// each of those above, and with each other, twice; a speed of 0 is no connection. It returns the devices that
// the next layer is below.
func (s *site) layer(role int, r *rack, above []*host, mbps, peers int64, others int) (added []*host) {
	for len(added) < 1+min(1, s.size/redundant) && s.left > others {
		h := s.device(role, r, false)
		for _, a := range above {
			s.connect(a, h, mbps, [2]string{})
		}
		if len(added) > 0 && peers > 0 {
			s.connect(added[0], h, peers, [2]string{})
			s.connect(added[0], h, peers, [2]string{})
		}
		added = append(added, h)
	}
	if len(added) == 0 {
		return above
	}
	return added
}

// building adds the floors of a building until so many devices are left, and the switches and the patch panel
// that they are connected to.
func (s *site) building(building *inventory.Location, r *rack, above []*host, end int) {
	if s.left-end >= 2*perFloor {
		above = s.layer(distribution, r, above, fortyGig, fortyGig, 0)
	}
	var hub *host
	if s.index < documentedSites && s.left-end >= perFloor/2 {
		hub = s.device(panel, r, false)
	}
	for i := 1; s.left > end; i++ {
		s.floor(s.rack(s.within(building, inventory.LocationFloor, strconv.Itoa(i)), 24), above, hub, max(end, s.left-perFloor))
	}
}

// floor adds up to three access switches with access points until so many devices are left. Hub is the panel
// that the panel of the floor is connected to, nil for none.
func (s *site) floor(r *rack, above []*host, hub *host, end int) {
	switches := make([]*host, min(3, (s.left-end+3)/4))
	for i := range switches {
		switches[i] = s.device(access, r, len(above) == 2)
	}
	through := make([][2]string, positions) // none
	if hub != nil && s.left > end {
		through = s.trunk(hub, s.device(panel, r, false))
	}
	for i, b := range switches {
		for j, a := range above {
			s.connect(a, b, tenGigabit, through[i*len(above)+j])
		}
	}
	for i := 0; s.left > end; i++ {
		s.connect(switches[i%len(switches)], s.device(accessPoint, r, false), gigabit, [2]string{})
	}
}

// servers fills a rack with two leaf switches and servers.
func (s *site) servers(r *rack, top []*host) {
	leaves := s.layer(leaf, r, top, hundredGig, 0, 0)
	for range min(s.left, perRack) {
		h := s.device(server, r, len(leaves) == 2)
		for _, a := range leaves {
			s.connect(a, h, tenGigabit, [2]string{})
		}
	}
}

// tables writes the VRFs and the containers.
func (n *network) tables(at time.Time) {
	for i := range n.VRFs {
		n.add(&n.VRFs[i], at)
		n.ids[n.VRFs[i].Name] = &n.VRFs[i].ID
	}
	for _, c := range n.Containers {
		n.add(&inventory.Prefix{Prefix: c.Prefix, VRFID: n.ids[c.VRF], Status: inventory.PrefixContainer, Description: c.Description}, at)
	}
}

// addressing writes the VLANs of a site, its networks, and the addresses of the gateways.
func (s *site) addressing() {
	add := func(prefix netip.Prefix, role, vrf string, status inventory.PrefixStatus, vlan *string, description string) {
		s.add(&inventory.Prefix{
			Prefix: prefix.Masked().String(), Role: role, VRFID: s.ids[vrf], Status: status, LocationID: &s.root.ID, VLANID: vlan, Description: description + " at " + s.root.Name,
		}, s.created)
	}
	add(netip.PrefixFrom(netip.MustParsePrefix(linkIP(s.index, 0, 0)).Addr(), 48), "links", "", inventory.PrefixContainer, nil, "Links")
	for block := s.block; block < s.blocks; block++ {
		add(netip.PrefixFrom(netip.MustParseAddr(deviceIP(254*block)), 24), "management", "management", inventory.PrefixActive, nil, "Management of devices")
	}
	add(netip.PrefixFrom(siteIP(s.index, 0, 0), 20), "site", "", inventory.PrefixContainer, nil, "All networks")
	for i := range min(s.size, len(s.VLANs)) {
		name, network, gateway := s.VLANs[i], netip.PrefixFrom(siteIP(s.index, i+1, 0), 24), siteIP(s.index, i+1, 1)
		v := &inventory.VLAN{
			VLANID: int64(10 * (i + 1)), Name: name, Description: "All " + name + " at " + s.root.Name, LocationID: &s.root.ID,
			Status: inventory.VLANActive, SubnetCIDR: network.String(), GatewayIP: gateway.String(),
		}
		s.add(v, s.created)
		s.vlans[name] = &v.ID
		add(network, name, name, inventory.PrefixActive, &v.ID, "Network of "+name)
		s.add(&inventory.Address{
			Address: gateway.String() + "/24", VRFID: s.ids[name], Status: inventory.AddressActive, Role: inventory.AddressVRRP,
			DNSName: "gateway-" + name + "." + s.code + ".example.net",
		}, s.created)
	}
}

// deviceIP returns a management address in 172.16.0.0/12, which has 4,096 blocks of 254.
func deviceIP(i int) string {
	block, host := i/254%4096, i%254+1
	return netip.AddrFrom4([4]byte{172, byte(16 + block>>8), byte(block), byte(host)}).String()
}

// linkIP returns the address of one end of a link between routers (RFC 6164).
func linkIP(site, link, end int) string {
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, byte(site >> 8), byte(site), byte(link >> 8), byte(link), 15: byte(end)}
	return netip.PrefixFrom(netip.AddrFrom16(a), 127).String()
}

// siteIP returns an address in one of the 16 networks of a site: each of 4,096 sites has a prefix of 20 bits.
func siteIP(site, network, host int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(site >> 4), byte(site<<4 | network), byte(host)})
}
