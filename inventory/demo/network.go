package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The time spans before Options.Now in which records are created.
const (
	deviceSpan = 3 * 365 * 24 * time.Hour
	eventSpan  = 30 * 24 * time.Hour // no device is younger
	metricSpan = time.Hour
)

// partSize is the number of devices generated at once; it is even because links need pairs.
const partSize = 500

// firstTenant is the number of a site's first VLAN beyond those of the catalog, which have the
// numbers 10, 20 and so on.
const firstTenant = 100

//go:embed catalog.json
var catalogJSON []byte

// catalog is the data that networks are composed of.
type catalog struct {
	Cities []struct {
		Code, Name, Country, Zone string
		Lat, Lon                  float64
	}
	Streets []string
	Systems map[string]system
	Roles   []role
	VLANs   []string
	Events  []eventKind
}

// system is an operating system with its interface names.
type system struct {
	Versions   []string
	Management string // the management port
	First      int64  // the number of the first port
	Ports      []struct {
		Mbps   int64 // the highest speed with this prefix; 0 for all higher ones
		Prefix string
	}
}

// role is the function of a device. The order is from the core to the edge: the devices of the
// first half of a part have links to those of the second.
type role struct {
	Name, Short string
	Share       int   // percent of the devices of a part
	Uplink      int64 // Mbps towards the core
	Models      []model
}

type model struct {
	Vendor, Name, OS string
	Serial           string // prefix of serial numbers
	Management       string // replaces that of the system
}

type eventKind struct {
	Severity      inventory.Severity
	Type, Message string
	Details       []string
	Share         int // percent of the events of working devices
}

// network generates records in the order in which they are written.
type network struct {
	*writer
	catalog
	plan Counts
}

type site struct {
	index, devices int
	code, id, rack string
	hosts          map[string]int // by role
	vlans          int
	mounted        int // devices in the rack
	addressed      bool
}

type host struct {
	*inventory.Device
	role   *role
	model  *model
	system system
	works  bool
	uplink *inventory.Interface
}

func (n *network) build(ctx context.Context) error {
	if err := json.Unmarshal(catalogJSON, &n.catalog); err != nil {
		return fmt.Errorf("demo: catalog.json: %w", err)
	}
	sites, err := n.sites(ctx)
	if err != nil {
		return err
	}
	if err := n.racks(ctx, sites); err != nil {
		return err
	}
	for _, s := range sites {
		for left := s.devices; left > 0; left -= partSize {
			if err := n.part(ctx, s, min(left, partSize)); err != nil {
				return err
			}
		}
	}
	entry, err := records.New(n.store, nil).AuditEntry(records.Caller{Name: "demo"}, "fill", "inventory", "",
		records.Changes{"devices": {After: int64(n.plan.Devices)}})
	if err != nil {
		return err
	}
	if err := n.add(ctx, entry, n.Now); err != nil {
		return err
	}
	return n.flush(ctx)
}

// sites writes the locations. Every tenth is three times as large.
func (n *network) sites(ctx context.Context) ([]*site, error) {
	all, weights, total := make([]*site, n.plan.Locations), make([]int, n.plan.Locations), 0
	for i := range all {
		c, number := n.Cities[i%len(n.Cities)], strconv.Itoa(i/len(n.Cities)+1)
		near := func(degrees float64) *float64 {
			degrees = math.Round(degrees*10_000+float64(n.rng.IntN(1001)-500)) / 10_000
			return &degrees
		}
		rec := &inventory.Location{
			Name: c.Name + " " + number, City: c.Name, Country: c.Country,
			Address:  strconv.Itoa(1+n.rng.IntN(200)) + " " + pick(n, n.Streets),
			SiteCode: c.Code + number, Timezone: c.Zone, Lat: near(c.Lat), Lon: near(c.Lon),
		}
		n.made.Locations++
		if err := n.add(ctx, rec, n.Now.Add(-deviceSpan-24*time.Hour+time.Duration(i)*time.Second)); err != nil {
			return nil, err
		}
		all[i] = &site{index: i, code: rec.SiteCode, id: rec.ID, hosts: map[string]int{}}
		if weights[i] = 2 + n.rng.IntN(4); i%10 == 0 {
			weights[i] *= 3
		}
		total += weights[i]
	}
	left := n.plan.Devices
	for i, s := range all {
		s.devices = n.plan.Devices * weights[i] / total &^ 1
		if i == len(all)-1 {
			s.devices = left
		}
		left -= s.devices
	}
	return all, nil
}

// part writes devices of a site with the share of the other records that belongs to them.
func (n *network) part(ctx context.Context, s *site, size int) error {
	hosts, begin := make([]host, size), n.created(n.made.Devices)
	for i := range hosts {
		hosts[i] = n.host(s, 100*i/size)
		created := n.created(n.made.Devices)
		n.made.Devices++
		if err := n.add(ctx, hosts[i].Device, created); err != nil {
			return err
		}
	}
	if err := n.interfaces(ctx, s, hosts); err != nil {
		return err
	}
	if err := n.addresses(ctx, s, hosts); err != nil {
		return err
	}
	due := func(total, made int) int { return total*n.made.Devices/n.plan.Devices - made }
	for range due(n.plan.VLANs, n.made.VLANs) {
		n.made.VLANs++
		if err := n.add(ctx, n.vlan(s), begin); err != nil {
			return err
		}
	}
	for i := range size / 2 {
		n.made.Links++
		if err := n.add(ctx, n.link(&hosts[i], &hosts[i+size/2]), hosts[i+size/2].CreatedAt); err != nil {
			return err
		}
	}
	for range due(n.plan.Metrics, n.made.Metrics) {
		at := n.moment(metricSpan, n.made.Metrics, n.plan.Metrics)
		n.made.Metrics++
		if err := n.add(ctx, n.metric(n.pickHost(hosts, func(h *host) bool { return h.works }), at), at); err != nil {
			return err
		}
	}
	for range due(n.plan.Events, n.made.Events) {
		at := n.moment(eventSpan, n.made.Events, n.plan.Events)
		h := n.pickHost(hosts, func(h *host) bool { return h.works || h.Status == inventory.DeviceOffline })
		n.made.Events++
		if err := n.add(ctx, n.event(h, s, at), at); err != nil {
			return err
		}
	}
	return nil
}

// created returns the creation time of a device.
func (n *network) created(device int) time.Time {
	return n.moment(deviceSpan-eventSpan-24*time.Hour, device, n.plan.Devices).Add(-eventSpan - 24*time.Hour)
}

// moment returns the time of thing i when total things are spread evenly over a span before now.
func (n *network) moment(span time.Duration, i, total int) time.Time {
	return n.Now.Add(-span + span/time.Duration(max(total, 1))*time.Duration(i)).Truncate(time.Microsecond)
}

// host makes the next device of a site; percent places it between core and edge.
func (n *network) host(s *site, percent int) host {
	r := &n.Roles[0]
	for i := range n.Roles {
		if r = &n.Roles[i]; percent < r.Share {
			break
		}
		percent -= r.Share
	}
	m := &r.Models[n.rng.IntN(len(r.Models))]
	s.hosts[r.Name]++
	d := &inventory.Device{
		Hostname: fmt.Sprintf("%s-%s-%04d", s.code, r.Short, s.hosts[r.Name]),
		IP:       deviceIP(n.made.Devices), Model: m.Name, Vendor: m.Vendor, OS: m.OS,
		OSVersion: pick(n, n.Systems[m.OS].Versions), Role: r.Name,
		SerialNumber: m.Serial + n.serial(), LocationID: &s.id,
		Status:       inventory.DeviceActive,
		Tags:         pick(n, [][]string{{}, {"lab"}, {"production", "pci"}, {"production", "monitored"}, {"production"}, {"production"}}),
		RackPosition: fmt.Sprintf("R%02d-U%02d", 1+n.rng.IntN(40), 1+n.rng.IntN(42)),
	}
	if n.rng.IntN(10) == 0 {
		d.Status = pick(n, []inventory.DeviceStatus{
			inventory.DeviceMaintenance, inventory.DeviceOffline, inventory.DeviceProvisioning, inventory.DeviceDecommissioned,
		})
	}
	d.LastSeen = n.lastSeen(d.Status)
	s.mount(d)
	if d.Status == inventory.DeviceMaintenance {
		d.Notes = "Maintenance window: software upgrade and power supply check."
	}
	works := d.Status == inventory.DeviceActive || d.Status == inventory.DeviceMaintenance
	return host{Device: d, role: r, model: m, system: n.Systems[m.OS], works: works}
}

// lastSeen returns minutes ago for devices that work, and nil for those not in service yet.
func (n *network) lastSeen(s inventory.DeviceStatus) *time.Time {
	ago := n.rng.Int64N(int64(10 * time.Minute))
	switch s {
	case inventory.DeviceProvisioning:
		return nil
	case inventory.DeviceOffline:
		ago = int64(time.Hour) + n.rng.Int64N(int64(3*24*time.Hour))
	case inventory.DeviceDecommissioned:
		ago = int64(30*24*time.Hour) + n.rng.Int64N(int64(365*24*time.Hour))
	}
	seen := n.Now.Add(-time.Duration(ago)).Truncate(time.Microsecond)
	if created := n.created(n.made.Devices); seen.Before(created) {
		seen = created
	}
	return &seen
}

// serial returns a serial number that is unique in the network: the factor and 36 have no
// common divisor, so multiplying permutes the numbers below 36^8.
func (n *network) serial() string {
	const numbers = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
	number := (uint64(n.made.Devices)*1_000_003_349 + n.Seed%numbers) % numbers
	digits := strings.ToUpper(strconv.FormatUint(number, 36))
	return strings.Repeat("0", 8-len(digits)) + digits
}

// interfaces gives each host its uplink and a management port.
func (n *network) interfaces(ctx context.Context, s *site, hosts []host) error {
	for i := range hosts {
		h := &hosts[i]
		h.uplink = n.uplink(s, hosts, i)
		management := h.port(h.management(), 1000, 1, "management", h.works)
		management.Mode, management.IPAddress = "routed", h.IP+"/24"
		for _, port := range []*inventory.Interface{h.uplink, management} {
			port.MACAddress = mac(n.made.Interfaces)
			n.made.Interfaces++
			if err := n.add(ctx, port, h.CreatedAt); err != nil {
				return err
			}
		}
	}
	return nil
}

// uplink returns the port of the link between host i and its peer in the other half, with the
// speed of the outer host. The last host of an odd number has no peer.
func (n *network) uplink(s *site, hosts []host, i int) *inventory.Interface {
	half := len(hosts) / 2
	number, h, outer, peer := int64(1+i%48), &hosts[i], &hosts[i], (*host)(nil)
	switch {
	case i < half:
		peer = &hosts[i+half]
		outer = peer
	case i < 2*half:
		peer = &hosts[i-half]
	}
	description, works := "not connected", false
	if peer != nil {
		broken := (n.made.Links+i%half)%33 == 32
		description, works = "to "+peer.Hostname, h.works && peer.works && !broken
	}
	port := h.port(h.portName(outer.role.Uplink, number), outer.role.Uplink, 500+number, description, works)
	mtu := int64(9216)
	port.Mode, port.MTU = "trunk", &mtu
	if peer != nil && (hosts[i%half].role == &n.Roles[0] || hosts[i%half].role == &n.Roles[1]) {
		port.Mode, port.IPAddress = "routed", linkIP(s.index, n.made.Links+i%half, i/half)
	}
	return port
}

func (h *host) portName(mbps, number int64) string {
	for _, p := range h.system.Ports {
		if mbps <= p.Mbps || p.Mbps == 0 {
			return p.Prefix + strconv.FormatInt(number-1+h.system.First, 10)
		}
	}
	return ""
}

func (h *host) management() string {
	if h.model.Management != "" {
		return h.model.Management
	}
	return h.system.Management
}

// port returns a new interface. The ports of devices that do not work are disabled.
func (h *host) port(name string, mbps, ifIndex int64, description string, works bool) *inventory.Interface {
	mtu := int64(1500)
	p := &inventory.Interface{
		DeviceID: h.ID, Name: name, Description: description, Type: "copper", MTU: &mtu,
		Speed: records.FormatSpeed(mbps), SpeedMbps: &mbps, IfIndex: &ifIndex,
		Status: inventory.LinkDown, AdminStatus: inventory.LinkUp, OperStatus: inventory.OperDown,
	}
	if mbps >= 10_000 {
		p.Type = "fiber"
	}
	switch {
	case !h.works:
		p.Status, p.AdminStatus = inventory.LinkAdminDown, inventory.LinkDown
	case works:
		p.Status, p.OperStatus = inventory.LinkUp, inventory.OperUp
	}
	return p
}

func (n *network) vlan(s *site) *inventory.VLAN {
	i := s.vlans
	s.vlans++
	v := &inventory.VLAN{LocationID: &s.id, Status: inventory.VLANActive}
	if i < len(n.VLANs) {
		v.VLANID, v.Name, v.Description = int64(10*(i+1)), n.VLANs[i], "All "+n.VLANs[i]+" at "+s.code
	} else {
		v.VLANID = int64(firstTenant + i - len(n.VLANs))
		v.Name, v.Description = fmt.Sprintf("tenant-%d", v.VLANID), "Tenant network at "+s.code
		if others := []inventory.VLANStatus{inventory.VLANReserved, inventory.VLANInactive, inventory.VLANDeprecated}; n.rng.IntN(4) == 0 {
			v.Status = pick(n, others)
		}
	}
	v.SubnetCIDR, v.GatewayIP = subnet(s.index, i)
	return v
}

func (n *network) link(a, b *host) *inventory.Link {
	link := &inventory.Link{
		AInterfaceID: min(a.uplink.ID, b.uplink.ID), BInterfaceID: max(a.uplink.ID, b.uplink.ID),
		Type: a.uplink.Type, Status: inventory.LinkDown, Discovery: "lldp",
	}
	if a.uplink.Status == inventory.LinkUp && b.uplink.Status == inventory.LinkUp {
		link.Status = inventory.LinkUp
	}
	switch {
	case n.rng.IntN(20) == 0:
		link.Discovery = "manual"
	case a.Vendor == "Cisco" && b.Vendor == "Cisco":
		link.Discovery = "cdp"
	}
	if a.LastSeen != nil && b.LastSeen != nil {
		if link.LastSeen = a.LastSeen; b.LastSeen.Before(*a.LastSeen) {
			link.LastSeen = b.LastSeen
		}
	}
	return link
}

func (n *network) metric(h *host, at time.Time) *inventory.Metric {
	between := func(from, to int) *float64 {
		v := float64(10*from+n.rng.IntN(10*(to-from))) / 10
		return &v
	}
	m := &inventory.Metric{DeviceID: h.ID, CPU: between(3, 45), Memory: between(25, 80), Temp: between(28, 55), TS: &at}
	if n.rng.IntN(30) == 0 { // busy
		m.CPU, m.Memory, m.Temp = between(85, 100), between(80, 98), between(55, 78)
	}
	age := max(int64(at.Sub(h.CreatedAt)/time.Second), 0)
	uptime := n.rng.Int64N(min(age, 400*24*3600) + 1)
	m.UptimeSeconds = &uptime
	return m
}

// event returns an event of a device. The last kind of the catalog is for devices that cannot
// be reached.
func (n *network) event(h *host, s *site, at time.Time) *inventory.Event {
	kind := &n.Events[len(n.Events)-1]
	if h.works {
		percent := n.rng.IntN(100)
		for i := range n.Events {
			if kind = &n.Events[i]; percent < kind.Share {
				break
			}
			percent -= kind.Share
		}
	}
	e := &inventory.Event{Severity: kind.Severity, Type: kind.Type, DeviceID: &h.ID, LocationID: &s.id}
	e.Message = strings.NewReplacer("{port}", h.uplink.Name, "{detail}", pick(n, kind.Details)).Replace(kind.Message)
	if strings.Contains(kind.Message, "{port}") {
		e.InterfaceID = &h.uplink.ID
	}
	if n.Now.Sub(at) > 7*24*time.Hour && n.rng.IntN(4) > 0 {
		acknowledged := at.Add(time.Duration(1+n.rng.IntN(240)) * time.Minute)
		e.AcknowledgedAt = &acknowledged
	}
	return e
}

// pickHost returns a random host that fits, or any host if none does.
func (n *network) pickHost(hosts []host, fits func(*host) bool) *host {
	i := n.rng.IntN(len(hosts))
	for range hosts {
		if fits(&hosts[i]) {
			break
		}
		i = (i + 1) % len(hosts)
	}
	return &hosts[i]
}

func pick[T any](n *network, from []T) T { return from[n.rng.IntN(len(from))] }

// deviceIP returns a management address in 172.16.0.0/12, unique for the first 1,040,384 devices.
func deviceIP(i int) string {
	block, host := i/254%4096, i%254+1
	return netip.AddrFrom4([4]byte{172, byte(16 + block>>8), byte(block), byte(host)}).String()
}

// linkIP returns the address of one end of a link between routers (RFC 6164).
func linkIP(site, link, end int) string {
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, byte(site >> 8), byte(site), byte(link >> 8), byte(link), 15: byte(end)}
	return netip.PrefixFrom(netip.AddrFrom16(a), 127).String()
}

// subnet returns the network of a VLAN and the address of its router.
func subnet(site, vlan int) (cidr, gateway string) {
	a := netip.AddrFrom4([4]byte{10, byte(7*site + vlan>>8), byte(vlan), 0})
	return netip.PrefixFrom(a, 24).String(), a.Next().String()
}

// mac returns a locally administered address.
func mac(i int) string {
	return fmt.Sprintf("02:a5:%02x:%02x:%02x:%02x", i>>24&255, i>>16&255, i>>8&255, i&255)
}
