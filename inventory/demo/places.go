package demo

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

const (
	rackHeight = 42
	// mounted is how many devices of a site are in its rack, in every other unit from the lowest one.
	mounted = 18
	// serviceBits is the length of the prefix for services of a site, with 14 addresses of hosts.
	serviceBits  = 28
	serviceHosts = 14
)

// serviceAddresses returns how many addresses of its prefix for services a site uses: some sites nearly all.
func serviceAddresses(site int) int { return 4 + site*7%(serviceHosts-3) }

// racks writes a rack and a prefix for each site.
func (n *network) racks(ctx context.Context, sites []*site) error {
	for i, s := range sites {
		at := n.Now.Add(-deviceSpan - 23*time.Hour + time.Duration(i)*time.Second)
		height := int64(rackHeight)
		rack := &inventory.Rack{Name: "R01", LocationID: &s.id, Height: &height, Status: inventory.RackActive, AssetTag: fmt.Sprintf("RACK-%05d", i+1)}
		n.made.Racks++
		if err := n.add(ctx, rack, at); err != nil {
			return err
		}
		s.rack = rack.ID
		prefix := &inventory.Prefix{
			Prefix: serviceNetwork(i).String(), Status: inventory.PrefixActive, Role: "services", LocationID: &s.id, Description: "Services at " + s.code,
		}
		n.made.Prefixes++
		if err := n.add(ctx, prefix, at); err != nil {
			return err
		}
	}
	return nil
}

// mount puts one of the first devices of a site into its rack.
func (s *site) mount(d *inventory.Device) {
	if s.mounted == mounted {
		return
	}
	unit := int64(1 + 2*s.mounted)
	s.mounted++
	d.RackID, d.RackUnit, d.RackPosition = &s.rack, &unit, fmt.Sprintf("R01-U%02d", unit)
}

// addresses writes the addresses of services of a site, at the uplinks of its first devices.
func (n *network) addresses(ctx context.Context, s *site, hosts []host) error {
	if s.addressed {
		return nil
	}
	s.addressed = true
	at := serviceNetwork(s.index).Addr()
	for i := range serviceAddresses(s.index) {
		h := &hosts[i%len(hosts)]
		at = at.Next()
		a := &inventory.Address{
			Address: netip.PrefixFrom(at, serviceBits).String(), InterfaceID: &h.uplink.ID, Status: inventory.AddressActive, Role: inventory.AddressSecondary,
			DNSName: fmt.Sprintf("service-%d.%s.example.net", i+1, s.code),
		}
		a.Normalize()
		n.made.Addresses++
		if err := n.add(ctx, a, h.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}

// serviceNetwork returns the prefix for services of a site: one of 4,096 in 192.168.0.0/16.
func serviceNetwork(site int) netip.Prefix {
	a := netip.AddrFrom4([4]byte{192, 168, byte(site >> 4), byte(site << 4)})
	return netip.PrefixFrom(a, serviceBits)
}
