package demo

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// host is a device of a site.
type host struct {
	*inventory.Device
	site   *site
	kind   int // the index of its role
	system *system
	works  bool
	ports  int64                // interfaces
	cabled int64                // those to other devices
	lag    *inventory.Interface // nil without one
	uplink *inventory.Interface // the first one to another device
	rears  int                  // of a patch panel
}

// device writes a device in a rack, below the others, with its interfaces for management and for the
// aggregation of its uplinks. Access points are near the rack. The devices of a role at a site are of one model.
func (s *site) device(kind int, r *rack, lag bool) *host {
	role, number := &s.Roles[kind], s.made["devices"]
	m := &role.Models[s.index%len(role.Models)]
	s.numbers[kind]++
	s.left--
	h := &host{site: s, kind: kind, system: s.Systems[m.OS], works: true}
	h.Device = &inventory.Device{
		Hostname: fmt.Sprintf("%s-%s-%02d", s.code, role.Short, s.numbers[kind]), Model: m.Name, Vendor: m.Vendor, OS: m.OS, Role: role.Name,
		SerialNumber: fmt.Sprintf("%s%08X", m.Serial, uint32(number)*2_654_435_761+uint32(s.Seed)), // unique: the factor is odd
		LocationID:   r.LocationID, DeviceTypeID: s.ids[m.Name], Tags: role.Tags, Status: inventory.DeviceActive,
	}
	if role.Height > 0 {
		r.free -= role.Height
		first := r.free + 1
		h.RackID, h.RackUnit, h.RackHeight, h.RackFace = &r.ID, &first, &role.Height, role.Face
		h.RackPosition = fmt.Sprintf("%s-U%02d", r.Name, first)
	}
	span := deviceSpan - eventSpan - 24*time.Hour
	created := s.Now.Add(-deviceSpan + span/time.Duration(s.Devices)*time.Duration(number)).Truncate(time.Microsecond)
	if kind != panel {
		h.IP, h.OSVersion = deviceIP(254*s.block+len(s.hosts)), pick(s.rng, h.system.Versions)
		s.condition(h, created)
	}
	s.hosts = append(s.hosts, h)
	s.add(h.Device, created)
	if kind < accessPoint {
		p := &inventory.Interface{Name: cmp.Or(m.Management, h.system.Management), Description: "management", Mode: "routed", IPAddress: h.IP + "/24"}
		s.port(h, p, gigabit, h.works)
		s.add(&inventory.Address{
			Address: p.IPAddress, InterfaceID: &p.ID, VRFID: s.ids["management"], Status: inventory.AddressActive, DNSName: h.Hostname + ".example.net",
		}, created)
	}
	if lag {
		s.group(h)
	}
	return h
}

// condition sets the status of a device, and when it was seen last. The core of the network works.
func (s *site) condition(h *host, created time.Time) {
	c := condition{Status: inventory.DeviceActive, MaxHours: 0.1}
	if roll := s.rng.IntN(200); h.kind >= server && roll < len(s.Conditions) {
		c = s.Conditions[roll]
	}
	h.Status, h.Notes = c.Status, c.Notes
	h.works = h.Status == inventory.DeviceActive || h.Status == inventory.DeviceMaintenance
	if c.MaxHours == 0 {
		return
	}
	hours := c.MinHours + s.rng.Float64()*(c.MaxHours-c.MinHours)
	seen := s.Now.Add(-time.Duration(hours * float64(time.Hour))).Truncate(time.Microsecond)
	if seen.Before(created) {
		seen = created
	}
	h.LastSeen = &seen
}

// port completes and writes an interface. The ports of devices that do not work are disabled.
func (s *site) port(h *host, p *inventory.Interface, mbps int64, works bool) {
	h.ports++
	mtu, i := int64(1500), s.made["interfaces"]
	p.DeviceID, p.IfIndex, p.MTU, p.Speed, p.SpeedMbps, p.Type = h.ID, new(h.ports), &mtu, records.FormatSpeed(mbps), &mbps, cmp.Or(p.Type, "copper")
	p.MACAddress = fmt.Sprintf("02:a5:%02x:%02x:%02x:%02x", i>>24&255, i>>16&255, i>>8&255, i&255) // locally administered
	if mbps >= tenGigabit && p.Type == "copper" {
		p.Type, mtu = "fiber", 9216
	}
	p.Status, p.AdminStatus, p.OperStatus = inventory.LinkDown, inventory.LinkUp, inventory.OperDown
	switch {
	case !h.works:
		p.Status, p.AdminStatus = inventory.LinkAdminDown, inventory.LinkDown
	case works:
		p.Status, p.OperStatus = inventory.LinkUp, inventory.OperUp
	}
	s.add(p, h.CreatedAt)
	if h.uplink == nil && h.cabled > 0 {
		h.uplink = p
	}
}

// group writes the link aggregation group of the uplinks of a device, with its VLANs.
func (s *site) group(h *host) {
	h.lag = &inventory.Interface{Name: h.system.LAG + "1", Description: "uplinks", Type: "lag"}
	if h.kind == access {
		h.lag.Mode, h.lag.UntaggedVLANID = "trunk", s.vlans["management"]
	}
	s.port(h, h.lag, 2*tenGigabit, h.works)
	for _, name := range []string{"users", "voice", "guests"} {
		if id := s.vlans[name]; id != nil && h.kind == access {
			s.add(&inventory.TaggedVLAN{InterfaceID: h.lag.ID, VLANID: *id}, h.CreatedAt)
		}
	}
}

// next returns the name of the next port to another device.
func (h *host) next(mbps int64) string {
	h.cabled++
	return h.system.portPrefix(mbps) + strconv.FormatInt(h.cabled-1+h.system.First, 10)
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
