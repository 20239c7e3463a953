package demo

import (
	"net/netip"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

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
