package demo

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory"
)

// purposes are what the first VLANs of a site are for: their numbers are 10, 20 and so on.
// The next ones are those of tenants, from firstTenant on.
var purposes = [...]string{"management", "servers", "users", "voice", "printers", "cameras", "guests", "storage", "dmz"}

const firstTenant = 100

func (n *network) vlans(ctx context.Context, p *part, _ int) error {
	for range n.due(n.plan.VLANs, n.made.VLANs) {
		v := n.vlan(p.site)
		if err := n.add(ctx, v, p.begun); err != nil {
			return err
		}
		n.made.VLANs++
	}
	return nil
}

// vlan is the next one of a site.
func (n *network) vlan(s *site) *inventory.VLAN {
	i := s.vlans
	s.vlans++
	v := &inventory.VLAN{LocationID: &s.id, Status: inventory.VLANActive}
	if i < len(purposes) {
		v.VLANID, v.Name = int64(10*(i+1)), purposes[i]
		v.Description = "All " + purposes[i] + " at " + s.code
	} else {
		v.VLANID = int64(firstTenant + i - len(purposes))
		v.Name = "tenant-" + decimal(v.VLANID)
		v.Description = "Tenant network at " + s.code
		v.Status = n.vlanStatus()
	}
	v.SubnetCIDR, v.GatewayIP = subnet(s.index, i)
	return v
}

func (n *network) vlanStatus() inventory.VLANStatus {
	switch n.rng.IntN(12) {
	case 0:
		return inventory.VLANReserved
	case 1:
		return inventory.VLANInactive
	case 2:
		return inventory.VLANDeprecated
	}
	return inventory.VLANActive
}
