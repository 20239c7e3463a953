package fetch

import "net/netip"

// IsPublic exports isPublic, because no test connects to a public address.
func IsPublic(a netip.Addr) bool { return isPublic(a) }
