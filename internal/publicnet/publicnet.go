// Package publicnet knows which IP addresses are in the public network, for connections to hosts that others name.
package publicnet

import (
	"errors"
	"net/netip"
	"syscall"
)

// ErrNotPublic is the error of Require.
var ErrNotPublic = errors.New("an address of this machine, a private network or a reserved range")

// Require is a [net.Dialer.Control] that refuses a connection to an address outside of the public network. It is
// called with the resolved address.
func Require(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err != nil || !Contains(a.Addr()) {
		return ErrNotPublic
	}
	return nil
}

// reserved are the special-purpose ranges of IANA that package netip does not know, and
// those that embed an IPv4 address.
var reserved = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
}

// Contains reports whether an address is in the public network.
func Contains(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, r := range reserved {
		if netip.MustParsePrefix(r).Contains(a) {
			return false
		}
	}
	return true
}
