package demo

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// The positions of VLANs in the catalog.
const (
	managementVLAN = iota
	serverVLAN
	userVLAN
	voiceVLAN
	guestVLAN = 6
)

// plannedSites is the number of sites with a network of their own in 10.0.0.0/8.
const plannedSites = 200

const (
	// serviceBits is the length of the prefix for services of a site, with 14 addresses of hosts.
	serviceBits  = 28
	serviceHosts = 14
)

// table is a VRF.
type table struct{ name, rd, description string }

// container is a network that contains those of the sites, in a VRF or in the global table.
type container struct{ prefix, vrf, description string }

var (
	routingTables = [...]table{
		{"management", "65000:10", "Access to devices"}, {"guests", "65000:70", "Visitors, without access to other networks"}, {"dmz", "65000:90", "Services for the public"},
	}
	containers = [...]container{
		{"10.0.0.0/8", "", "Sites"},
		{"192.168.0.0/16", "", "Services of sites"},
		{"2001:db8::/32", "", "Links between devices"},
		{"172.16.0.0/12", "management", "Management of devices"},
	}
)

// tables writes the VRFs and the containers.
func (n *network) tables(ctx context.Context, at time.Time) {
	for _, t := range routingTables {
		v := &inventory.VRF{Name: t.name, RD: t.rd, Description: t.description}
		n.add(ctx, v, at)
		n.vrfs[t.name] = v.ID
	}
	for _, c := range containers {
		n.add(ctx, &inventory.Prefix{Prefix: c.prefix, VRFID: n.vrf(c.vrf), Status: inventory.PrefixContainer, Description: c.description}, at)
	}
}

// vrf returns the id of a VRF, nil for the global table.
func (n *network) vrf(name string) *string {
	if id, ok := n.vrfs[name]; ok {
		return &id
	}
	return nil
}

// vlansOf returns the number of VLANs of a site.
func vlansOf(devices int) int {
	switch {
	case devices >= 60:
		return 9
	case devices >= 4:
		return 4
	}
	return min(devices, 1)
}

// taggedVLANs returns the positions of the VLANs that the uplinks of access switches carry with tags.
func taggedVLANs(vlans int) (tagged []int) {
	for _, vlan := range []int{userVLAN, voiceVLAN, guestVLAN} {
		if vlan < vlans {
			tagged = append(tagged, vlan)
		}
	}
	return tagged
}

// vlan returns the id of a VLAN of the site, that of the first one if it has no other.
func (s *site) vlan(i int) *string { return &s.vlans[min(i, len(s.vlans)-1)] }

// virtualNetworks writes the VLANs of a site.
func (n *network) virtualNetworks(ctx context.Context, s *site, at time.Time) {
	for i := range vlansOf(len(s.units)) {
		v := &inventory.VLAN{
			VLANID: int64(10 * (i + 1)), Name: n.VLANs[i], Description: "All " + n.VLANs[i] + " at " + s.name, LocationID: &s.placeIDs[0], Status: inventory.VLANActive,
		}
		v.SubnetCIDR, v.GatewayIP = subnet(s.index, i)
		n.add(ctx, v, at)
		s.vlans = append(s.vlans, v.ID)
	}
}

// prefixes writes the networks of a site, and the addresses of the gateways.
func (n *network) prefixes(ctx context.Context, s *site, at time.Time) {
	add := func(prefix, role, vrf string, status inventory.PrefixStatus, vlan *string, description string) {
		n.add(ctx, &inventory.Prefix{
			Prefix: prefix, Role: role, VRFID: n.vrf(vrf), Status: status, LocationID: &s.placeIDs[0], VLANID: vlan, Description: description + " at " + s.name,
		}, at)
	}
	add(netip.PrefixFrom(netip.MustParsePrefix(linkIP(s.index, 0, 0)).Addr(), 48).String(), "links", "", inventory.PrefixContainer, nil, "Links")
	for i := range blocks(len(s.units)) {
		address := netip.MustParseAddr(deviceIP(254 * (s.block + i)))
		add(netip.PrefixFrom(address, 24).Masked().String(), "management", "management", inventory.PrefixActive, nil, "Management of devices")
	}
	planned := at
	at = n.Now.Add(-eventSpan - time.Duration(s.index)*time.Hour) // the newest ones, which pages show first
	add(serviceNetwork(s.index).String(), "services", "", inventory.PrefixActive, nil, "Services")
	at = planned
	if s.index >= plannedSites {
		return
	}
	add(fmt.Sprintf("10.%d.0.0/16", s.index), "site", "", inventory.PrefixContainer, nil, "All networks")
	for i := range s.vlans {
		cidr, gateway := subnet(s.index, i)
		name := n.VLANs[i]
		add(cidr, name, name, inventory.PrefixActive, &s.vlans[i], "Network of "+name)
		a := &inventory.Address{
			Address: gateway + "/24", VRFID: n.vrf(name), Status: inventory.AddressActive, Role: inventory.AddressVRRP, DNSName: "gateway-" + name + "." + s.code + ".example.net",
		}
		a.Normalize()
		n.add(ctx, a, at)
	}
}

// address writes the address of the management port of a device.
func (n *network) address(ctx context.Context, h *host, p *inventory.Interface) {
	a := &inventory.Address{Address: p.IPAddress, InterfaceID: &p.ID, VRFID: n.vrf("management"), Status: inventory.AddressActive, DNSName: h.Hostname + ".example.net"}
	a.Normalize()
	n.add(ctx, a, h.CreatedAt)
}

// serviceAddresses returns how many addresses of its prefix for services a site uses: some sites nearly all.
func serviceAddresses(site int) int { return 4 + (3+site*7)%(serviceHosts-3) }

// services writes the addresses of services of a site, at the uplinks of its servers.
func (n *network) services(ctx context.Context, s *site) {
	var from []*host
	for i := range s.hosts {
		if s.hosts[i].unit.role == server {
			from = append(from, &s.hosts[i])
		}
	}
	at := serviceNetwork(s.index).Addr()
	for i := range serviceAddresses(s.index) {
		at = at.Next()
		a := &inventory.Address{
			Address: netip.PrefixFrom(at, serviceBits).String(), Status: inventory.AddressActive, Role: inventory.AddressSecondary,
			DNSName: fmt.Sprintf("service-%d.%s.example.net", i+1, s.code),
		}
		created := s.hosts[0].CreatedAt
		if len(from) > 0 {
			h := from[i%len(from)]
			port := h.uplink
			if h.lag != nil {
				port = h.lag
			}
			a.InterfaceID, created = &port.ID, h.CreatedAt
		}
		a.Normalize()
		n.add(ctx, a, created)
	}
}

// serviceNetwork returns the prefix for services of a site: one of 4,096 in 192.168.0.0/16.
func serviceNetwork(site int) netip.Prefix {
	a := netip.AddrFrom4([4]byte{192, 168, byte(site >> 4), byte(site << 4)})
	return netip.PrefixFrom(a, serviceBits)
}

// blocks returns the number of networks of management addresses of a site.
func blocks(devices int) int { return (devices + 253) / 254 }

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

// subnet returns the network of a VLAN of a site and the address of its router.
func subnet(site, vlan int) (cidr, gateway string) {
	a := netip.AddrFrom4([4]byte{10, byte(site % plannedSites), byte(10 * (vlan + 1)), 0})
	return netip.PrefixFrom(a, 24).String(), a.Next().String()
}
