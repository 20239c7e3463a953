package ipam

import "net/netip"

// BlocksAfter is blocksAfter.
func BlocksAfter(p, in netip.Prefix) []netip.Prefix { return blocksAfter(p, in) }
