package demo

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
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

// tables writes the VRFs and the containers.
func (n *network) tables(at time.Time) {
	for i := range n.VRFs {
		n.add(&n.VRFs[i], at)
		n.vrfs[n.VRFs[i].Name] = &n.VRFs[i].ID
	}
	for _, c := range n.Containers {
		n.add(&inventory.Prefix{Prefix: c.Prefix, VRFID: n.vrfs[c.VRF], Status: inventory.PrefixContainer, Description: c.Description}, at)
	}
}

// vlan returns the id of a VLAN of the site, that of the first one if it has no other.
func (s *site) vlan(i int) *string { return s.vlans[min(i, len(s.vlans)-1)] }

// addressing writes the VLANs of a site, its networks, and the addresses of the gateways.
func (s *site) addressing() {
	created := s.created
	add := func(prefix netip.Prefix, role, vrf string, status inventory.PrefixStatus, vlan *string, description string) {
		s.add(&inventory.Prefix{
			Prefix: prefix.Masked().String(), Role: role, VRFID: s.vrfs[vrf], Status: status, LocationID: &s.root.ID, VLANID: vlan, Description: description + " at " + s.root.Name,
		}, created)
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
		s.add(v, created)
		s.vlans = append(s.vlans, &v.ID)
		add(network, name, name, inventory.PrefixActive, &v.ID, "Network of "+name)
		s.add(&inventory.Address{
			Address: gateway.String() + "/24", VRFID: s.vrfs[name], Status: inventory.AddressActive, Role: inventory.AddressVRRP,
			DNSName: "gateway-" + name + "." + s.code + ".example.net",
		}, created)
	}
	created = s.Now.Add(-eventSpan - time.Duration(s.index)*time.Hour) // the newest ones, which pages show first
	add(serviceNetwork(s.index), "services", "", inventory.PrefixActive, nil, "Services")
}

// services writes the addresses of services of a site, at the uplinks of its servers. Some sites use nearly
// all of their prefix.
func (s *site) services() {
	from := slices.DeleteFunc(slices.Clone(s.hosts), func(h *host) bool { return h.kind != server })
	network := serviceNetwork(s.index)
	at := network.Addr()
	for i := range 4 + (3+s.index*7)%11 {
		at = at.Next()
		a := &inventory.Address{
			Address: netip.PrefixFrom(at, network.Bits()).String(), Status: inventory.AddressActive, Role: inventory.AddressSecondary,
			DNSName: fmt.Sprintf("service-%d.%s.example.net", i+1, s.code),
		}
		created := s.hosts[0].CreatedAt
		if len(from) > 0 {
			h := from[i%len(from)]
			a.InterfaceID, created = &cmp.Or(h.lag, h.uplink).ID, h.CreatedAt
		}
		s.add(a, created)
	}
}

// serviceNetwork returns the prefix for services of a site: one of 4,096 in 192.168.0.0/16.
func serviceNetwork(site int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(site >> 4), byte(site << 4)}), 28)
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
