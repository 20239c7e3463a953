package fetch

import "net/netip"

// IsPublic is what decides whether an address may be connected to. No test connects to
// a public one.
func IsPublic(a netip.Addr) bool { return isPublic(a) }
